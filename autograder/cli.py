"""The command ``autograder``: exit 0 only if everything asked for was done."""

import argparse
import sys
from pathlib import Path

from autograder.problem import Problem


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="autograder", description="猫吃鱼 · RMSNorm 教师工具")
    commands = root.add_subparsers(dest="command", required=True, metavar="命令")

    build = commands.add_parser("build", help="来源 → 解答与学生版 notebook")
    build.add_argument("lesson", nargs="*", help="课名，缺省为全部")
    build.add_argument("--check", action="store_true", help="只检查是否过期，过期则退出码为 1")
    build.set_defaults(run=run_build)
    return root


def run_build(options: argparse.Namespace) -> None:
    from autograder import build
    from autograder.course import Course

    act = build.check if options.check else build.build
    act(Course.find(), options.lesson)


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except Problem as problem:
        print(f"autograder {options.command}：{problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("已中断。再次运行会接着做。", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
