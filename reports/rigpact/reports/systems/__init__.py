"""One interface for every system: what check, run, diff and explain ask of it, and who answers.

    interface          the questions, as data, and `ReportedSystem`, which answers them
    enemy_animation    the first system: bundle, companion, clips; answered by the functions of rigpact.reports
    hosted             every system that is a definition and a graph of stages; the graph_… files judge such graphs
    registry           which system a file belongs to, by what it holds

A command asks `system_of` and calls what it gets; no command knows a system's name. A new graph of stages needs nothing here.
"""
