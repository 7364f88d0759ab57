"""Rule files, read strictly: what people know and source cannot say. ``loader`` and ``schema`` read
any, and each other module one of them."""
