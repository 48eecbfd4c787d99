"""Every output stage of one contract, from the network's answer to the published quaternions, without frames around them."""

from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.vocabulary.posing.composed_pose import ComposedPose
from rigpact.reference_runtime.vocabulary.posing.denormalised_output import Denormalisation
from rigpact.reference_runtime.vocabulary.posing.pose_quaternions import PoseQuaternions
from rigpact.reference_runtime.vocabulary.posing.published_pose import PublishedPose
from rigpact.reference_runtime.vocabulary.posing.turn import Turn


class OutputStages:
    """The stages after the network: each a pure function of the stages before it, float32 in, float32 out, as in the engine."""

    def __init__(self, contract: Contract) -> None:
        """Look every convention up once."""
        self.codec, self.rotations = Rot6d(contract.conventions), contract.numbers.output[ROTATIONS].range
        self.y_raw, self.delta6d, self.compose = Denormalisation(contract), Turn(contract), ComposedPose(contract)
        self.y_out, self.quat, self._bones = (
            PublishedPose(contract),
            PoseQuaternions(contract),
            contract.numbers.bone_count,
        )

    def identity_pose(self) -> FloatArray:
        """The published rotations before the first frame: no rotation, (6·B,)."""
        return stored(self.codec.identity(self._bones))

    def __call__(self, y_norm: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> dict[str, FloatArray]:
        """Every output stage by name, in loop order; delta6d only where there is a delta."""
        return {"y_norm": y_norm, **self.of_raw(self.y_raw(y_norm), previous6d, published6d)}

    def of_raw(self, y_raw: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> dict[str, FloatArray]:
        """The same from a denormalised answer on."""
        stages = self.published(y_raw, previous6d, published6d)
        return {**stages, "quat": self.quat(stages["y_out"])}

    def published(self, y_raw: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> dict[str, FloatArray]:
        """The same without the quaternions."""
        delta6d = self.delta6d(y_raw, published6d)
        next6d = y_raw[..., self.rotations] if delta6d is None else self.compose(delta6d, previous6d)
        turn = {} if delta6d is None else {"delta6d": delta6d}
        return {"y_raw": y_raw, **turn, "next6d": next6d, "y_out": self.y_out(y_raw, next6d, published6d)}
