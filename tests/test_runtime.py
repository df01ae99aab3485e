import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's setting")
def test_freed_memory_is_reused():
    """Writing to newly mapped memory costs a page fault for every 4 kB."""
    code = (
        "import resource, torch; from regard.runtime import keep_freed_memory\n"
        "{}\n"
        "torch.ones(30_000_000); before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for i in range(50): torch.ones(8_000_000 + 7 * i % 5 * 1_000_000)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)"
    )

    def count_page_faults(first_line):
        command = [sys.executable, "-c", code.format(first_line)]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    assert count_page_faults("keep_freed_memory()") < 0.5 * count_page_faults("")
