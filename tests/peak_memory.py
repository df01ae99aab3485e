"""Peak memory of Python code in a separate process."""

import subprocess
import sys

END = """
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""  # getrusage would count the memory of the parent when it forked


def measure_peak_memory(code: str, *arguments: object) -> tuple[list[str], float]:
    """Run the code; return the lines that it prints and its peak memory in megabytes."""
    process = subprocess.run(
        [sys.executable, "-c", code + END, *map(str, arguments)], capture_output=True, check=True, text=True
    )
    *lines, kilobytes = process.stdout.splitlines()
    return lines, int(kilobytes) / 1024
