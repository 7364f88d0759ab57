"""What checks and findings come to, one module per format."""
