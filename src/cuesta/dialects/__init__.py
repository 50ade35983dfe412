"""Wire formats: read, splice, count usage. One wire API a file; pure."""
