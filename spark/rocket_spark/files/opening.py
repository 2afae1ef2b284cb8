"""Which storage holds a URI, and the options of each.

Each option may stand in the environment instead:

- `s3.endpoint` (`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`), `s3.region` (`AWS_REGION`, `AWS_DEFAULT_REGION`),
  `s3.accessKey`, `s3.secretKey`, `s3.sessionToken` (`AWS_ACCESS_KEY_ID`, ...), `s3.anonymous`
- `hdfs.webhdfs` (`ROCKETSPEC_WEBHDFS`): `HOST:PORT` of the name node's HTTP; `hdfs.user` (`HADOOP_USER_NAME`),
  `hdfs.kerberos`
"""

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from rocket_spec.errors import UsageError

from rocket_spark.files import hdfs, s3
from rocket_spark.files.storage import LocalStorage, Storage, scheme_of


def check_settings(options: Mapping[str, str]) -> None:
    """Raises UsageError for a name that is no storage's."""
    names = [*s3.NAMES, *hdfs.NAMES]
    known = {name.lower() for name in names}
    for name in options:
        if name.lower() not in known:
            raise UsageError(f"storage option {name}: unknown; there are {', '.join(names)}")


def storage_for(uri: str, options: Mapping[str, str] | None = None) -> tuple[Storage, str]:
    """The storage that holds `uri`, and the URI as that storage takes it.

    Args:
        uri: a path, `file:`, `s3:` (also `s3a:`, `s3n:`), `hdfs:` or `webhdfs:` URI.
        options: see the module; other names are ignored, as is case.

    Raises:
        UsageError: another scheme, or an option with a value that it cannot have.
    """
    scheme = scheme_of(uri)
    lowered = {name.lower(): value for name, value in (options or {}).items()}
    settings = tuple(sorted((n, v) for n, v in lowered.items() if n.startswith(("s3.", "hdfs."))))
    if not scheme:
        return LocalStorage(), uri
    if scheme == "file":
        return LocalStorage(), unquote(urlsplit(uri).path)
    named, at, _ = urlsplit(uri).netloc.rpartition("@")
    if ":" in named or (at and scheme in ("s3", "s3a", "s3n")):  # a message would print them
        raise UsageError(
            f"{scheme}: a URI with credentials is refused; use the options s3.accessKey and s3.secretKey"
        )
    if not urlsplit(uri).netloc and scheme in ("s3", "s3a", "s3n"):
        raise UsageError(f"{uri}: names no bucket")
    if scheme in ("s3", "s3a", "s3n"):
        return s3.S3Storage(settings), uri
    if scheme in ("hdfs", "webhdfs"):
        return hdfs.hdfs_storage(uri, settings), uri
    raise UsageError(f"{uri}: scheme {scheme} is not read; there are s3, hdfs, webhdfs and file")
