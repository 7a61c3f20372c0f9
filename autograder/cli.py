"""The command ``autograder``: exit 0 only if everything asked for was done."""

import argparse
import contextlib
import io
import sys
from pathlib import Path

from autograder.harmless import shown
from autograder.problem import Problem

# jsonschema, which nbformat imports, would spend a second on a grammar of addresses that nothing here checks.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="autograder", description="猫吃鱼 · RMSNorm 教师工具")
    commands = root.add_subparsers(dest="command", required=True, metavar="命令")

    build = commands.add_parser("build", help="来源 → 解答与学生版 notebook")
    build.add_argument("lesson", nargs="*", help="课名，缺省为全部")
    build.add_argument("--check", action="store_true", help="只检查是否过期，过期则退出码为 1")
    build.add_argument(
        "--bundle", nargs="?", type=Path, const=Path("dist/rmsnorm-course.zip"), metavar="FILE",
        help="构建后再打一个学生用的压缩包，缺省为 dist/rmsnorm-course.zip",
    )  # fmt: skip
    build.set_defaults(run=run_build)
    collect = commands.add_parser("collect", help="收作业：文件夹、压缩包、文件 → classroom/submitted/")
    collect.add_argument("source", nargs="+", type=Path, help="学生交来的文件夹、压缩包或 .ipynb 文件")
    classroom_option(collect)
    collect.add_argument("--roster", type=Path, help="名单 CSV，含 student（学号）列，可含 name（姓名）列")
    collect.add_argument("--student-pattern", metavar="REGEX", help=r"从路径里取学号，如 (?P<student>\d{8})")
    collect.add_argument("--replace", action="store_true", help="用新交的换掉旧的；旧的移到 earlier/ 留底")
    collect.add_argument("--dry-run", action="store_true", help="只说会怎样收，什么也不写")
    collect.set_defaults(run=run_collect)

    grade = commands.add_parser("grade", help="评分；没有变化的不重评")
    grade.add_argument("lesson", nargs="*", help="课名，缺省为收到的全部")
    classroom_option(grade)
    grade.add_argument("--student", action="append", default=[], metavar="ID", help="只评这名学生，可重复")
    grade.add_argument("--jobs", type=positive, metavar="N", help="同时评几份，缺省为处理器核数")
    grade.add_argument("--force", action="store_true", help="没有变化的也重评")
    grade.add_argument(
        "--timeout", type=positive, default=30, metavar="S", help="每个单元格的秒数上限，缺省 30"
    )
    grade.add_argument("--memory", type=positive, default=4096, metavar="MB", help="内存上限，缺省 4096")
    grade.add_argument("--require-sandbox", action="store_true", help="没有沙箱就拒绝评分")
    grade.add_argument("--dask", metavar="ADDRESS", help="在 Dask 集群上运行，例如 tcp://127.0.0.1:8786")
    grade.add_argument("--db", metavar="URL", help="成绩册的 SQLAlchemy 地址，缺省为 classroom/gradebook.db")
    grade.set_defaults(run=run_grade)

    report = commands.add_parser("report", help="全班情况：CSV 与网页")
    classroom_option(report)
    report.add_argument("--csv", type=Path, metavar="FILE", help="每名学生每一步一行")
    report.add_argument("--html", type=Path, metavar="FILE", help="自成一体的网页")
    report.add_argument(
        "--lms", nargs=2, action=Platform, metavar=("moodle|canvas", "FILE"), help="学习平台能导入的成绩表"
    )
    report.add_argument("--db", metavar="URL", help="成绩册的 SQLAlchemy 地址")
    report.set_defaults(run=run_report)

    demo = commands.add_parser("demo", help="写出一个八人的示例班级，收、评、报告一遍")
    demo.add_argument("--folder", type=Path, default=Path("demo-class"), metavar="DIR")
    demo.set_defaults(run=run_demo)
    return root


def classroom_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--classroom", type=Path, metavar="DIR", help="班级文件夹，缺省为课程里的 classroom/")


class Platform(argparse.Action):
    """``--lms PLATFORM FILE``."""

    def __call__(self, parser, namespace, values, option_string=None):
        platform, path = values
        if platform not in ("moodle", "canvas"):
            parser.error(f"--lms 只认识 moodle 和 canvas，收到的是 {platform}")
        namespace.lms = (platform, Path(path))


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"应为正整数，收到的是 {text}")
    return int(text)


def run_build(options: argparse.Namespace) -> None:
    from autograder import build, publish
    from autograder.course import Course

    course = Course.find()
    act = build.check if options.check else build.build
    act(course, options.lesson)
    if options.bundle:
        publish.bundle(course, options.bundle)
        print(f"已写入 {options.bundle}（{options.bundle.stat().st_size / 1e6:.1f} MB）")


def classroom_of(options: argparse.Namespace):
    from autograder.course import Classroom, Course

    return Classroom(options.classroom.resolve() if options.classroom else Course.find().root / "classroom")


def listed(items: list[str], most: int = 10) -> str:
    """The first of them in one line, and whether there are more."""
    return "、".join(map(shown, items[:most])) + (" 等" if len(items) > most else "")


def run_collect(options: argparse.Namespace) -> None:
    from autograder.collect import collect, legible

    classroom = classroom_of(options)
    done = collect(
        classroom, options.source, options.roster, options.student_pattern, options.replace, options.dry_run
    )
    if options.dry_run:
        for student, lesson in done.placed:
            print(shown(f"  {student} {lesson} ← {legible(str(done.origin[student, lesson]))}"))
        print(f"试运行：会收下 {len(done.placed)} 份，什么也没有写。")
    else:
        print(f"收下 {len(done.placed)} 份，放在 {classroom.root / 'submitted'}。")
    if done.same:
        print(f"另有 {len(done.same)} 份已经收过，内容相同，没有再收。")
    if done.earlier:
        whose = listed([f"{student} 的 {lesson}" for student, lesson in done.earlier])
        print(f"较早的 {sum(done.earlier.values())} 份留在 {classroom.root / 'earlier'}：{whose}。")
    if done.other:
        print(f"另有 {len(done.other)} 个文件不是 notebook，没有收：")
        print("\n".join(f"  {shown(legible(str(path)))}" for path in done.other))
    if done.solutions:
        print(f"有 {len(done.solutions)} 个是课程自带的解答（solutions/ 里的），不算学生的作业，没有收：")
        print("\n".join(f"  {shown(legible(str(path)))}" for path in done.solutions))
    if done.steps:
        print(
            f"nbgrader 的课程文件夹里只收 submitted/，其余 {done.steps.total()} 个文件没有收"
            f"（在 {listed(list(done.steps))}）。"
        )
    if done.strange:
        print(f"名单里的人，这次一份也没有对上。请检查是不是这个班的名单（记在 {classroom.roster}）。")
    if done.unknown:
        kept = "会按文件夹名收下" if options.dry_run else "按文件夹名收下了"
        names = {
            student: student + (f"（像 {'、'.join(people)}）" if people else "")
            for (student, _), people in done.unknown.items()
        }
        print(
            f"有 {len(done.unknown)} 份对不上名单：{'、'.join(names.values())}（{kept}）。"
            f"若是名单里的人，请改文件夹名，或用 --student-pattern。"
        )
    lines = [shown(f"  {legible(str(path))}：{reason}") for path, reason in done.left]
    if lines:
        raise Problem("\n".join([f"有 {len(lines)} 个文件没有收：", *lines]))


def run_grade(options: argparse.Namespace) -> None:
    from autograder.run import Pool, cores

    classroom = classroom_of(options)
    # Workers import torch while we import nbgrader.
    soon = (options.force or classroom.seems_new()) and not options.dask
    pool = Pool(options.jobs or cores()).warm() if soon else None
    with pool or contextlib.nullcontext():
        from autograder.course import Course
        from autograder.grade import grade

        results = grade(
            Course.find(), classroom, options.lesson, options.student, options.jobs, options.force,
            float(options.timeout), options.memory, options.db, options.require_sandbox, options.dask, pool,
        )  # fmt: skip
    place = options.classroom or "classroom"
    print(f"评完 {len(results)} 份。接下来：autograder report --csv {place}/成绩.csv --html {place}/全班.html")


def run_report(options: argparse.Namespace) -> None:
    from autograder.report import report

    report(classroom_of(options), options.csv, options.html, options.db, options.lms)
    for path in filter(None, (options.csv, options.html, options.lms and options.lms[1])):
        print(f"已写入 {path}")


def run_demo(options: argparse.Namespace) -> None:
    from autograder.collect import collect
    from autograder.course import Classroom, Course
    from autograder.demo import write_class
    from autograder.grade import grade
    from autograder.report import report

    course, folder = Course.find(), options.folder.resolve()
    handed_in = write_class(course, folder)
    classroom = Classroom(folder / "classroom")
    collect(classroom, [handed_in], folder / "class.csv")
    grade(course, classroom)
    report(classroom, folder / "scores.csv", folder / "class.html")
    print(
        f"\n看这里：\n"
        f"  交来的作业    {handed_in}\n"
        f"  成绩表        {folder / 'scores.csv'}\n"
        f"  全班情况      {folder / 'class.html'}\n"
        f"  每人的反馈    {classroom.root / 'feedback'}\n"
        f"  成绩册        {classroom.root / 'gradebook.db'}"
    )


def main(arguments: list[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character is no reason to stop
            stream.reconfigure(errors="replace")
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except Problem as problem:
        print(shown(f"autograder {options.command}：{problem}", keep="\n"), file=sys.stderr)
        return 1
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        said = f"autograder {options.command}：读写{where} 失败：{error.strerror or error}。"
        print(shown(said), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("已中断。再次运行会接着做。", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
