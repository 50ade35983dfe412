"""One page that shows what replays came to, for people: plots to read and hover, and tables.

It works offline, asks nothing of any network, and holds no text of any conversation: only names of
files, sessions and models, and numbers.
"""

from cuesta.lab.report.collected import Collected
from cuesta.lab.report.drawing import need_drawing, write_figures
from cuesta.lab.report.page import Report, html

__all__ = ["Collected", "Report", "html", "need_drawing", "write_figures"]
