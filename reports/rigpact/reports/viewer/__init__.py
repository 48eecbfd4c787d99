"""The gate's answer as one HTML file: the verdict in words, and both skeletons moving over each other.

    page           the document: assets, content security policy, output file
    words          the texts about a gate, ready for the template: causes, each with its step and its place in the pictures
    run_data       the data for drawing a compared run; a long run is thinned
    packing        numbers as text
    assets/        template, style and script

The page loads nothing and sends nothing; the same answer gives the same bytes. Text from files (bone names, paths) may
be hostile: the template escapes it, and the script writes it only as text. To add a view: a function in page.py or
run_data.py, its place in assets/page.html.j2, and its drawing in assets/.
"""

from rigpact.reports.viewer.page import render_html, write_html

__all__ = ["render_html", "write_html"]
