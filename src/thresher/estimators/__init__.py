"""The scikit-learn layer: estimators over the same runs that `thresher.select` makes.

The only place, with the export to scikit-learn, that imports it; nothing imports this until an estimator is
touched.
"""

from thresher.core.optional import need

need("sklearn", "sklearn")  # says how to get it where it is missing
