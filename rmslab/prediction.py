"""Predict, then run: a reader's recorded prediction beside the result. Not scored."""

from html import escape
from typing import Any

from rmslab.catalogue import text


class Unknown(str):
    """Why there is no result yet that a prediction could be compared with."""


class Prediction:
    """Shown in a notebook as one line: the question, what was predicted, what came out (or why nothing did)."""

    def __init__(self, question: str, predicted: Any, result: Any):
        self.question, self.predicted, self.result = question, predicted, result

    @property
    def recorded(self) -> bool:
        return self.predicted is not ... and self.predicted is not None

    def __repr__(self) -> str:
        if isinstance(self.result, Unknown):
            return text("prediction", "unknown", question=self.question, reason=self.result)
        said = str(self.predicted) if self.recorded else text("prediction", "none")
        return text("prediction", "line", question=self.question, predicted=said, result=self.result)

    def _repr_html_(self) -> str:
        return (
            f'<p role="note" style="border-left:4px solid #56B4E9;padding-left:.8em">{escape(repr(self))}</p>'
        )


def predicted(question: str, prediction: Any, result: Any) -> Prediction:
    """Put the recorded prediction (a literal, or ``...`` where none was made) beside the result."""
    return Prediction(question, prediction, result)
