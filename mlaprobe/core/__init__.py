"""Data that all packages share. Shapes, decisions and evidence are in ``shape``, the table of a
shape's fields in ``axes``, the interfaces of sources in ``protocols``."""
