"""How much memory a piece of code takes, in a process of its own."""

import subprocess
import sys

END = """
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""  # getrusage would count what the parent held when it forked


def measure_peak_memory(code: str, *arguments: object) -> tuple[list[str], float]:
    """What the code prints, and the most megabytes it held."""
    answer = subprocess.run(
        [sys.executable, "-c", code + END, *map(str, arguments)], capture_output=True, check=True, text=True
    )
    *said, kilobytes = answer.stdout.splitlines()
    return said, int(kilobytes) / 1024
