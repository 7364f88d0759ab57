"""Forms of C++ that are more than an expression or a statement: arrays, templates, classes."""
