"""The hex dumps of SPEC.md are the bytes that the real 4.9.3 wrote, and each number is that of its bytes."""

import base64
import json
import re
from pathlib import Path

import rocket_golden
from rocket_golden import zstd
from rocket_spec.data import find_data


def test_the_dumps_are_of_the_recorded_files() -> None:
    text = find_data("spec/SPEC.md").read_text("utf-8")
    (vector,) = [one for one in rocket_golden.vectors() if one["id"] == "IDX-ENT-1/small-file"]
    (file,) = vector["expected"]["files"].values()
    facts = json.loads((Path(__file__).parent / "real" / "facts.json").read_text("utf-8"))
    queue = facts["pre_blank"]["files"][f"{100:020}"]
    wanted = {
        "index file": zstd.decompress(base64.b64decode(file["zstd_base64"])),
        "queue file": bytes.fromhex(queue),
    }
    for name, data in wanted.items():
        (dump,) = re.findall(rf"<!-- dump: {name} -->\n```text\n(.*?)```", text, re.DOTALL)
        shown = b""
        for place, part, value in re.findall(
            r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} )+) +\w+ \d* +\w+ +(-?\d+)", dump, re.MULTILINE
        ):
            assert (int(place, 16), int.from_bytes(bytes.fromhex(part), signed=True)) == (
                len(shown),
                int(value),
            )
            shown += bytes.fromhex(part)
        assert shown == data
