"""Run as sitecustomize: modules named in REGARD_TEST_HIDDEN are as if they were not installed."""

import json
import os
import sys
from importlib.machinery import PathFinder

HIDDEN = frozenset(json.loads(os.environ["REGARD_TEST_HIDDEN"]))


class PathFinderWithout(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        hidden = fullname.partition(".")[0] in HIDDEN
        return None if hidden else super().find_spec(fullname, path, target)


sys.meta_path[:] = [PathFinderWithout if each is PathFinder else each for each in sys.meta_path]
