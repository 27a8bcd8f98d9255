"""Writes the rows of a report as CSV that no spreadsheet takes for formulas (decision 270)."""

from contract.vocabulary import ReportColumnType
from reports.csv_cells import text_cell
from reports.table import Cell, Table


def csv_of_table(table: Table) -> bytes:
    """The rows below a line with the keys of the columns, without sums: a sum would be one more row."""
    are_texts = [column.type is ReportColumnType.TEXT for column in table.columns]
    lines = [[_cell(column.key, is_text=True) for column in table.columns]]
    lines += [
        [_cell(cell, is_text=is_text) for cell, is_text in zip(row, are_texts, strict=True)] for row in table.rows
    ]
    return "".join(f"{','.join(line)}\r\n" for line in lines).encode()


def _cell(cell: Cell, *, is_text: bool) -> str:
    return "" if cell is None else text_cell(str(cell), is_number=not is_text)
