"""Estimators for scikit-learn, over the same runs as `thresher.select`.

Only this package and the export to scikit-learn import it. `thresher` loads this package on the first use of an
estimator.
"""

from thresher.core.optional import need

need("sklearn", "sklearn")
