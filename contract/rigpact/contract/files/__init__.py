"""Files of a user: read strictly, within limits, and written whole.

reading     opening a file: what is no regular file, too large, or of a format that is not read is refused; inputs are remembered
json_text   JSON: depth, keys that stand twice, what is not a number of JSON
writing     the only place that writes files: all of a file or nothing, never over an input

These modules do not know what the files mean; documents.py does.
"""

from rigpact.contract.files.json_text import (
    MAX_JSON_DEPTH,
    JsonFile,
    bytes_to_json,
    bytes_to_toml,
    read_json,
    read_toml,
)
from rigpact.contract.files.reading import (
    MAX_FILE_BYTES,
    directory_hint,
    is_file,
    opened,
    read_bytes,
    refuse_bomb,
    refuse_too_large,
    refuse_unread_folder,
    spelling_of,
)
from rigpact.contract.files.writing import (
    copy_file,
    copy_folder,
    opened_to_append,
    refuse_output,
    write_bytes,
    written_whole,
)

__all__ = [
    "MAX_FILE_BYTES", "MAX_JSON_DEPTH", "JsonFile", "bytes_to_json", "bytes_to_toml", "copy_file", "copy_folder",
    "directory_hint", "is_file", "opened", "opened_to_append", "read_bytes", "read_json", "read_toml", "refuse_bomb",
    "refuse_output", "refuse_too_large", "refuse_unread_folder", "spelling_of", "write_bytes", "written_whole",
]  # fmt: skip
