"""One file per framework: how it runs a tool, and where its exceptions are still exceptions."""
