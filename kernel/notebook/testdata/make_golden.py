"""Writes written_by_jupyter.ipynb with Jupyter's own writer (package nbformat).

Run it where nbformat is installed: python make_golden.py
The Go test reads the file and expects to write the same bytes.
"""
import json
import nbformat

doc = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {
        "kernelspec": {"name": "rooflab", "display_name": "Go (rooflab)", "language": "go"},
        "language_info": {"name": "go"},
        "unknown": {"b": [1, 2.50, -0.0, 1e-7, True, None, []], "a": {}},
        "orig_nbformat": 3,
    },
    "cells": [
        {"cell_type": "markdown", "id": "intro", "metadata": {"trusted": True},
         "source": "# Title <b>&</b>\n\nnaïve – “quotes” \\ and \"these\"\tand 中文 🚀\n",
         "attachments": {"x.png": {"image/png": "aGVsbG8="}}},
        {"cell_type": "code", "id": "c-1", "metadata": {"tags": ["parameters"], "collapsed": False},
         "execution_count": 3, "source": "x := 1\r\ny := \"a\u2028b\x85c\"\nx",
         "outputs": [
             {"output_type": "stream", "name": "stdout", "text": "one\ntwo\x0bthree\x1b[0m\n"},
             {"output_type": "stream", "name": "stderr", "text": "no newline"},
             {"output_type": "display_data", "metadata": {"image/png": {"width": 10}},
              "data": {"image/png": "iVBORw0KGgo=\n", "text/plain": "<pic>\nline",
                       "image/svg+xml": "<svg>\n</svg>", "application/javascript": "a\nb",
                       "application/json": {"text": "a\nb", "n": [1, {"k": "v"}]},
                       "application/vnd.x+json": "a\nb"}},
             {"output_type": "execute_result", "metadata": {}, "execution_count": 3, "data": {"text/plain": "1"}},
             {"output_type": "error", "ename": "panic", "evalue": "boom", "traceback": ["a", "b\nc"]},
         ]},
        {"cell_type": "code", "id": "empty", "metadata": {}, "execution_count": None, "source": "", "outputs": []},
        {"cell_type": "raw", "id": "raw", "metadata": {"format": "text/plain"}, "source": "raw \x7f\b\f\x01"},
    ],
}
nb = nbformat.from_dict(doc)
nbformat.write(nb, "written_by_jupyter.ipynb")
