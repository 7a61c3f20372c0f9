"""What goes wrong for reasons that a person can mend."""


class Problem(Exception):
    """Shown to the instructor as it is, in Chinese, with what to do next; the command then exits with 1."""
