"""The gate's answer as one HTML file that opens anywhere: the verdict in words and the two skeletons moving over each other.

    page           the document: assets, content security policy, writing the file
    words          what the page says about a gate, ready for the template
    finding_words  the findings, run_words a compared run, diagnosis why it differs
    run_data       what the page draws of a compared run, thinned where it is long
    packing        numbers as text
    still          the worst frame as a picture that needs no script
    assets/        template, style and script

Nothing is loaded from anywhere, nothing is sent anywhere; the same answer gives the same bytes. Text that comes from files
(bone names, paths) is hostile: the template escapes it, the script writes it as text only.
To add a view: a function in words.py or run_data.py, its place in assets/page.html.j2, its drawing in assets/.
"""

from rigpact.reports.viewer.page import render_html, write_html

__all__ = ["render_html", "write_html"]
