"""Files as the projects write them that the hosted systems come from, made without rigpact's own writers."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

SERVER_PORT, ENGINE_PORT = 6003, 50123


def training_data(path: Path, context: np.ndarray, rotations: np.ndarray) -> None:
    """The add-on's data set: positions are the root's axes times the way from the hips, not their transpose."""
    forward, up = context[:, 30:33], context[:, 33:36]
    axes = np.stack([np.cross(forward, up), forward, up], axis=-1).astype(float)
    told = context.copy()
    for place in range(0, 30, 6):
        way = np.einsum("tab,tb->ta", axes, context[:, place : place + 3])
        told[:, place : place + 3] = np.einsum("tab,tb->ta", axes, way)
    path.parent.mkdir(parents=True)
    np.savez(
        path, train_inputs=told, train_outputs=rotations, test_inputs=told[:9], train_ground_heights=np.zeros((9, 2))
    )


def toy_dataset(folder: Path, parameters: np.ndarray, meshes: np.ndarray, anim: np.ndarray) -> None:
    """`generate_toy_dataset.py`: float64, arrays without names."""
    folder.mkdir(parents=True)
    np.savez(folder / "dataset.npz", parameters.astype(float), meshes.reshape(-1, 8, 3).astype(float))
    np.save(folder / "anim_4D.npy", anim.reshape(-1, 8, 3).astype(float))


def window(path: Path, stages: dict[str, np.ndarray]) -> None:
    """The dictionary that the network answers, a batch of one window, beside its input."""
    rows = len(stages["imu"])
    np.savez(
        path,
        imu_data=stages["imu"][None],
        pose_mean=stages["pose"].reshape(1, rows, 17, 3),
        pose_log_var=stages["log_variance"].reshape(1, rows, 17, 3),
        cnn_features=np.zeros((1, rows, 256)),
        **{name: stages[name][:1] for name in ("exercise_logits", "form_logits", "uncertainty")},
    )


def capture(packets: np.ndarray, replies: list[bytes], link: int = 1, order: str = "<") -> bytes:
    """What tcpdump writes of a session: a handshake of nobody, each frame, its reply, and traffic of others between them."""
    content = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for place, (packet, reply) in enumerate(zip(packets, replies, strict=True)):
        frame = b"\x02" + packet.astype("<f4").tobytes()
        for payload, source, destination in (
            (frame, ENGINE_PORT, SERVER_PORT),
            (b"dns", 53, ENGINE_PORT),
            (reply, SERVER_PORT, ENGINE_PORT),
        ):
            packed = _before(link) + _ipv4(payload, source, destination)
            content += struct.pack(f"{order}IIII", place // 60, place % 60 * 16_666, len(packed), len(packed)) + packed
    return content


def plugin_capture(frames: np.ndarray, replies: np.ndarray) -> bytes:
    """A session of the public plug-in: floats alone, to 8005 and to 8006, with ideal targets for debugging to 8007."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for frame, reply in zip(frames, replies, strict=True):
        for rows, port in ((frame, 8005), (reply, 8007), (reply, 8006)):
            packed = _ipv4(rows.astype("<f4").tobytes(), ENGINE_PORT, port)
            content += struct.pack("<IIII", 0, 0, len(packed), len(packed)) + packed
    return content


def _before(link: int) -> bytes:
    return {
        0: b"\x02\0\0\0",
        1: bytes(12) + b"\x08\0",
        101: b"",
        113: bytes(14) + b"\x08\0",
        276: b"\x08\0" + bytes(18),
    }[link]


def _ipv4(payload: bytes, source: int, destination: int) -> bytes:
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 7, 0, 64, 17, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
    return header + struct.pack(">HHHH", source, destination, 8 + len(payload), 0) + payload


def console(page: Path) -> list[str]:
    """The first block of commands on a page, without `rigpact`."""
    block: Any = page.read_text(encoding="utf-8").split("```console\n")[1].split("```")[0]
    return [line.removeprefix("$ rigpact ") for line in block.strip().splitlines()]
