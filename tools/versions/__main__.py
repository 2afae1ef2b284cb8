"""`python -m tools.versions`: surveys the releases, and writes versions.json and VERSIONS.md.

What `versions.json` holds of a run that was interrupted, on the same cases, is not surveyed again.
"""

import argparse
import sys

from rocket_spec.data import find_data

from tools.versions import (
    RELEASES,
    Release,
    Survey,
    inputs_digest,
    read_survey,
    render,
    survey_all,
    survey_to_json,
)


def main() -> None:
    """Writes both files beside SPEC.md."""
    parser = argparse.ArgumentParser(prog="python -m tools.versions", description=__doc__)
    parser.add_argument("--render", action="store_true", help="only VERSIONS.md again, from versions.json")
    parser.add_argument("--again", action="store_true", help="survey what versions.json holds already, too")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="releases at a time (default 2)")
    arguments = parser.parse_args()
    folder = find_data("spec/SPEC.md").parent
    if not arguments.render:
        digest = inputs_digest()
        found: list[Release] = []
        known = () if arguments.again else _known(digest)
        for release in survey_all(jobs=arguments.jobs, known=known):
            found.append(release)
            sys.stderr.write(f"{release.version} differs in {', '.join(release.differs) or 'nothing'}\n")
            text = survey_to_json(Survey(digest, tuple(found)))
            (folder / "versions.json").write_text(text, encoding="utf-8")
    survey = read_survey()
    if len(survey.releases) == len(RELEASES):
        (folder / "VERSIONS.md").write_text(render(survey), encoding="utf-8")


def _known(digest: str) -> tuple[Release, ...]:
    try:
        survey = read_survey()
    except FileNotFoundError:
        return ()
    return survey.releases if survey.inputs == digest else ()


if __name__ == "__main__":
    main()
