"""What a pasted error means: reads a traceback, finds the user's line in it, and asks the linter about that line.

`pasted` reads the text, `sources` finds its files, `ranking` orders the rules that come into question, `answer` puts
together what is known, and `show` writes it. Nothing of the user's code is executed.
"""
