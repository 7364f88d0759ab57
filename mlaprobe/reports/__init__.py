"""What people ask for: a ``survey``, the ``explanation`` of one shape, ``deployments``."""
