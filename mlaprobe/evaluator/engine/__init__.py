"""The abstract machine: compiles the intermediate form to closures and runs every path."""
