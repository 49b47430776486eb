"""Workers that share the rows of a fit: on threads of this process, or on Ray. The only place that imports Ray."""
