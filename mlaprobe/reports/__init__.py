"""The data of ``report``, ``explain`` and ``models``."""
