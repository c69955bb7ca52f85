"""Documents: a list of blocks, and the same document as Markdown, HTML or LaTeX.

Text is plain, except for names of rules and the like between backticks.
"""

from veritally.document.blocks import Block, Bullets, Cell, Chart, Figure, Heading, Paragraph, Row, Section, Table
from veritally.document.html import html_table, to_fragment, to_html
from veritally.document.latex import latex_table, to_latex
from veritally.document.markdown import to_markdown

__all__ = [
    "Block",
    "Bullets",
    "Cell",
    "Chart",
    "Figure",
    "Heading",
    "Paragraph",
    "Row",
    "Section",
    "Table",
    "html_table",
    "latex_table",
    "to_fragment",
    "to_html",
    "to_latex",
    "to_markdown",
]
