"""Pure rendering: the content of a CX report to the bytes of its PDF, spreadsheet and deck."""
