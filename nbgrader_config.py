"""So that stock nbgrader commands and formgrader work in this folder, on the class under ``classroom/``."""

from nbgrader import preprocessors

from autograder.build import RevealStubs

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "rmsnorm"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.submitted_directory = "classroom/submitted"
c.CourseDirectory.autograded_directory = "classroom/autograded"
c.CourseDirectory.feedback_directory = "classroom/feedback"
c.CourseDirectory.db_url = "sqlite:///classroom/gradebook.db"

# What a solution region becomes in the student's notebook; the line "### STUB …" after it is then revealed.
c.ClearSolutions.code_stub = {"python": "# ↓ 写在这里"}
c.ClearSolutions.text_stub = "在这里写你的回答。"
c.GenerateAssignment.preprocessors = [
    preprocessors.IncludeHeaderFooter,
    preprocessors.LockCells,
    preprocessors.ClearSolutions,
    RevealStubs,
    preprocessors.ClearOutput,
    preprocessors.CheckCellMetadata,
    preprocessors.ComputeChecksums,
    preprocessors.SaveCells,
    preprocessors.ClearHiddenTests,
    preprocessors.ClearMarkScheme,
    preprocessors.ComputeChecksums,
    preprocessors.CheckCellMetadata,
]
