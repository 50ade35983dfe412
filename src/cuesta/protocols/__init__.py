"""What agent programs mean by their wire text: tables and pure functions, one subject a file."""
