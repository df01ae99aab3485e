"""Runs the recipe on two simulated nodes: same answers as `regard translate`, also after a node is lost.

python check_two_nodes.py MODEL
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
ADDRESS = "http://127.0.0.1:8123/"
REQUESTS = 60


def main() -> None:
    model = str(Path(sys.argv[1]).resolve())
    os.environ |= {
        "REGARD_MODEL": model,
        "PYTHONPATH": str(HERE),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_SERVE_PROXY_PREFER_LOCAL_NODE_ROUTING": "0",  # else the proxy's own node would do it all
    }
    sys.path.insert(0, str(HERE))
    import ray
    from ray import serve
    from ray.cluster_utils import Cluster
    from translator_app import app

    import regard

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": 8123})
        serve.run(app, route_prefix="/")
        texts = [[f"the cat {n} sees a bird.", "a dog."] for n in range(REQUESTS)]
        expected = [regard.Translator.load(model, engine="ctranslate2").translate(each) for each in texts]
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(post, texts))
        assert [each["translations"] for each in answers] == expected
        nodes = {each["node"] for each in answers}
        sys.stdout.write(
            f"{REQUESTS} requests, {len(nodes)} nodes, the same translations as in one process\n"
        )
        assert len(nodes) == 2
        cluster.remove_node(node, allow_graceful=False)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(post, texts))
        assert [each["translations"] for each in answers] == expected
        sys.stdout.write(f"{REQUESTS} requests after a node was lost: the same translations\n")
    finally:
        serve.shutdown()
        ray.shutdown()
        cluster.shutdown()


def post(texts: list[str]) -> dict:
    """Send a request; one that is lost with a node is sent again."""
    request = Request(ADDRESS, json.dumps({"text": texts}).encode(), {"Content-Type": "application/json"})
    until = time.monotonic() + 90
    while True:
        try:
            with urlopen(request, timeout=30) as response:
                return json.load(response)
        except (URLError, ConnectionError, TimeoutError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main()
