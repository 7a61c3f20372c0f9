"""``python -m rmslab check NOTEBOOK...``"""

import argparse
import sys
from pathlib import Path

from rmslab import restart


def main() -> int:
    if sys.argv[1:2] == ["--inside"]:
        restart.inside(Path(sys.argv[2]), Path(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(prog="python -m rmslab", description="猫吃鱼 · RMSNorm 学生工具")
    commands = parser.add_subparsers(dest="command", required=True, metavar="命令")
    check = commands.add_parser("check", help="在全新进程里从头运行 notebook，并检查每一步")
    check.add_argument("notebook", nargs="+", help="要检查的 .ipynb 文件")
    return restart.main(parser.parse_args().notebook)


if __name__ == "__main__":
    sys.exit(main())
