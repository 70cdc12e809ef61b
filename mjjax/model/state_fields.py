"""The state of a simulation: MuJoCo's components, and the fields of `Data` that hold them."""

from mjjax.core.enums import State

# There are no plugins, so their component is empty.
COMPONENTS: dict[State, str] = {
    State.TIME: "time",
    State.QPOS: "qpos",
    State.QVEL: "qvel",
    State.ACT: "act",
    State.HISTORY: "history",
    State.WARMSTART: "qacc_warmstart",
    State.CTRL: "ctrl",
    State.QFRC_APPLIED: "qfrc_applied",
    State.XFRC_APPLIED: "xfrc_applied",
    State.EQ_ACTIVE: "eq_active",
    State.MOCAP_POS: "mocap_pos",
    State.MOCAP_QUAT: "mocap_quat",
    State.USERDATA: "userdata",
}
# Fields that a reset sets; `forward` computes all other fields of `Data` from them.
STATE_FIELDS = tuple(COMPONENTS.values())
