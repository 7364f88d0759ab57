"""Pictures as SVG, written by hand."""
