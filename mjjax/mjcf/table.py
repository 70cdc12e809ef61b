"""Attributes of every MJCF element of MuJoCo 3.6.0, in the notation that `schema` explains."""


def without(text: str, names: str) -> str:
    """The entries of `text` whose attribute is not among `names`."""
    dropped = set(names.split())
    return ";".join(e for e in text.split(";") if e.split() and e.split()[0] not in dropped)


# ---- attribute groups -------------------------------------------------------------------------

TURN = "axisangle real[4]; xyaxes real[6]; zaxis real[3]; euler real[3]"
POSE = "pos real[3] = 0 0 0; quat real[4] = 1 0 0 0;" + TURN
SOLREF = "real[..2] = 0.02 1"
SOLIMP = "real[..5] = 0.9 0.95 0.001 0.5 2"
FRICTION5 = "real[..5] = 1 1 0.005 0.0001 0.0001"

COMPILER = """
    autolimits bool = true; boundmass real = 0; boundinertia real = 0; settotalmass real = -1;
    balanceinertia bool = false; strippath bool = false; coordinate coordinate = local;
    angle angle = degree; fitaabb bool = false; eulerseq text = xyz; meshdir text;
    texturedir text; assetdir text; discardvisual bool = false; usethread bool = true;
    fusestatic bool = false; inertiafromgeom tristate = auto; inertiagrouprange int[2] = 0 5;
    saveinertial bool = false; alignfree bool = false
"""
LENGTHRANGE = """
    mode lrmode = muscle; useexisting bool = true; uselimit bool = false; accel real = 20;
    maxforce real = 0; timeconst real = 1; timestep real = 0.01; inttotal real = 10;
    interval real = 2; tolrange real = 0.05
"""
OPTION = f"""
    timestep real = 0.002; impratio real = 1; tolerance real = 1e-8; ls_tolerance real = 0.01;
    noslip_tolerance real = 1e-6; ccd_tolerance real = 1e-6; sleep_tolerance real = 1e-4;
    gravity real[3] = 0 0 -9.81; wind real[3] = 0 0 0; magnetic real[3] = 0 -0.5 0;
    density real = 0; viscosity real = 0; o_margin real = 0; o_solref {SOLREF};
    o_solimp {SOLIMP}; o_friction {FRICTION5}; integrator integrator = Euler;
    cone cone = pyramidal; jacobian jacobian = auto; solver solver = Newton;
    iterations int = 100; ls_iterations int = 50; noslip_iterations int = 0;
    ccd_iterations int = 35; sdf_iterations int = 10; sdf_initpoints int = 40;
    actuatorgroupdisable int[..31]
"""
# In the order of their bits (mjtDisableBit, mjtEnableBit).
DISABLE_FLAGS: tuple[str, ...] = tuple(
    "constraint equality frictionloss limit contact spring damper gravity clampctrl warmstart "
    "filterparent actuation refsafe sensor midphase eulerdamp autoreset nativeccd island".split()
)
ENABLE_FLAGS: tuple[str, ...] = tuple("override energy fwdinv invdiscrete multiccd sleep".split())
SIZE = (
    "memory text; njmax int = -1; nconmax int = -1; nstack int = -1; nuserdata int = 0;"
    "nkey int = 0; nuser_body int = -1; nuser_jnt int = -1; nuser_geom int = -1;"
    "nuser_site int = -1; nuser_cam int = -1; nuser_tendon int = -1; nuser_actuator int = -1;"
    "nuser_sensor int = -1"
)
STATISTIC = "meaninertia real; meanmass real; meansize real; extent real; center real[3]"

JOINT = f"""
    name text; class text; type jointtype = hinge; group int = 0; pos real[3] = 0 0 0;
    axis real[3] = 0 0 1; springdamper real[2] = 0 0; limited tristate = auto;
    actuatorfrclimited tristate = auto; solreflimit {SOLREF}; solimplimit {SOLIMP};
    solreffriction {SOLREF}; solimpfriction {SOLIMP}; stiffness real = 0;
    range real[2] = 0 0; actuatorfrcrange real[2] = 0 0; actuatorgravcomp bool = false;
    margin real = 0; ref real = 0; springref real = 0; armature real = 0; damping real = 0;
    frictionloss real = 0; user real[]
"""
GEOM = f"""
    name text; class text; type geomtype = sphere; contype int = 1; conaffinity int = 1;
    condim int = 3; group int = 0; priority int = 0; size real[..3] = 0 0 0; material text;
    friction real[..3] = 1 0.005 0.0001; mass real; density real = 1000;
    shellinertia bool = false; solmix real = 1; solref {SOLREF}; solimp {SOLIMP};
    margin real = 0; gap real = 0; fromto real[6]; {POSE}; hfield text; mesh text;
    fitscale real = 1; rgba single[4] = 0.5 0.5 0.5 1; fluidshape fluidshape = none;
    fluidcoef real[..5] = 0.5 0.25 1.5 1 1; user real[]
"""
SITE = f"""
    name text; class text; type geomtype = sphere; group int = 0; {POSE}; material text;
    size real[..3] = 0.005 0.005 0.005; fromto real[6];
    rgba single[4] = 0.5 0.5 0.5 1; user real[]
"""
CAMERA = f"""
    name text; class text; projection projection = perspective; fovy real = 45;
    ipd real = 0.068; resolution int[2] = 1 1; output camout = rgb |; {POSE};
    mode camlight = fixed; target text; focal single[2] = 0 0; focalpixel single[2] = 0 0;
    principal single[2] = 0 0; principalpixel single[2] = 0 0; sensorsize single[2] = 0 0;
    user real[]
"""
LIGHT = """
    name text; class text; directional bool; type lighttype = spot; castshadow bool = true;
    active bool = true; pos real[3] = 0 0 0; dir real[3] = 0 0 -1; bulbradius single = 0.02;
    intensity single = 0; range single = 10; attenuation single[3] = 1 0 0; cutoff single = 45;
    exponent single = 10; ambient single[3] = 0 0 0; diffuse single[3] = 0.7 0.7 0.7;
    specular single[3] = 0.3 0.3 0.3; mode camlight = fixed; target text; texture text
"""
PAIR = f"""
    name text; class text; geom1 text; geom2 text; condim int = 3; friction {FRICTION5};
    solref {SOLREF}; solreffriction real[..2] = 0 0; solimp {SOLIMP}; gap real = 0;
    margin real = 0
"""
EQUALITY = f"name text; class text; active bool = true; solref {SOLREF}; solimp {SOLIMP}"
TENDON = f"""
    name text; class text; group int = 0; limited tristate = auto;
    actuatorfrclimited tristate = false; range real[2] = 0 0; actuatorfrcrange real[2] = 0 0;
    solreflimit {SOLREF}; solimplimit {SOLIMP}; solreffriction {SOLREF}; solimpfriction {SOLIMP};
    frictionloss real = 0; springlength real[..2]; margin real = 0; stiffness real = 0;
    damping real = 0; armature real = 0; user real[]
"""
SPATIAL = TENDON + "; width real = 0.003; material text; rgba single[4] = 0.5 0.5 0.5 1"

# Attributes of every actuator; a tag of the actuator section adds its own below.
ACTUATOR = """
    name text; class text; group int = 0; nsample int = 0; interp interp = zoh;
    delay real = 0; ctrlrange real[2] = 0 0; forcerange real[2] = 0 0;
    forcelimited tristate = auto; user real[]
"""
DRIVE = """
    lengthrange real[2] = 0 0; gear real[..6] = 1 0 0 0 0 0; cranklength real = 0;
    joint text; jointinparent text; tendon text; slidersite text; cranksite text
"""
TRANSMISSION_TARGETS = (
    "lengthrange joint jointinparent tendon slidersite cranksite site refsite body"
)
LIMITED = "ctrllimited tristate = auto"
SERVO = ACTUATOR + ";" + DRIVE + "; site text; refsite text"
PRM = "real[..10] = 1 0 0 0 0 0 0 0 0 0"
ACTUATORS = {
    "general": f"""{SERVO}; {LIMITED}; actlimited tristate = auto; actrange real[2] = 0 0;
        body text; actdim int = -1; dyntype dyntype = none; gaintype gaintype = fixed;
        biastype biastype = none; dynprm {PRM}; gainprm {PRM};
        biasprm real[..10] = 0 0 0 0 0 0 0 0 0 0; actearly bool = false""",
    "motor": f"{SERVO}; {LIMITED}",
    "position": f"""{SERVO}; {LIMITED}; kp real; kv real; dampratio real; timeconst real;
        inheritrange real = 0""",
    "velocity": f"{SERVO}; {LIMITED}; kv real",
    "intvelocity": f"""{SERVO}; {LIMITED}; actrange real[2] = 0 0; kp real; kv real;
        dampratio real; inheritrange real = 0""",
    "damper": f"{SERVO}; kv real",
    "cylinder": f"""{SERVO}; {LIMITED}; timeconst real; area real; diameter real;
        bias real[3]""",
    "muscle": f"""{ACTUATOR}; {DRIVE}; {LIMITED}; timeconst real[2]; tausmooth real;
        range real[2]; force real; scale real; lmin real; lmax real; vmax real; fpmax real;
        fvmax real""",
    "adhesion": f"{ACTUATOR}; body text; gain real",
    "plugin": f"""{without(SERVO, "refsite")}; {LIMITED}; plugin text; instance text;
        actlimited tristate; actrange real[2]; actdim int; dyntype dyntype; dynprm real[..10];
        actearly bool""",
}

# ---- sensors -----------------------------------------------------------------------------------

SENSE = """
    name text; nsample int = 0; interp interp = zoh; delay real = 0; interval real[..2] = 0 0;
    cutoff real = 0; noise real = 0; user real[]
"""
FRAMED = "objtype text *; objname text *; reftype text; refname text"
BETWEEN = "geom1 text; geom2 text; body1 text; body2 text"
SENSED = {
    "site text *": "touch accelerometer velocimeter gyro force torque magnetometer",
    "site text *; camera text *": "camprojection",
    "site text; camera text; data raydata = dist <": "rangefinder",
    "joint text *": "jointpos jointvel jointactuatorfrc ballquat ballangvel jointlimitpos "
    "jointlimitvel jointlimitfrc",
    "tendon text *": "tendonpos tendonvel tendonactuatorfrc tendonlimitpos tendonlimitvel "
    "tendonlimitfrc",
    "actuator text *": "actuatorpos actuatorvel actuatorfrc",
    FRAMED: "framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel",
    "objtype text *; objname text *": "framelinacc frameangacc",
    "body text *": "subtreecom subtreelinvel subtreeangmom",
    "site text *; objtype text *; objname text *": "insidesite",
    BETWEEN: "distance normal fromto",
    BETWEEN + "; site text; subtree1 text; subtree2 text; data condata = found <; num int = 1;"
    "reduce reduce = none": "contact",
    "": "e_potential e_kinetic clock",
}
TACTILE = without(SENSE, "cutoff noise") + "; geom text *; mesh text *"
USER_SENSOR = """
    name text; objtype text; objname text; cutoff real = 0; noise real = 0; user real[];
    datatype datatype = real; dim int *; needstage stage = acc
"""
PLUGIN_SENSOR = """
    name text; objtype text; objname text; reftype text; refname text; cutoff real; user real[];
    plugin text; instance text
"""

# ---- soft bodies, skins, composites ----------------------------------------------------

FLEX_CONTACT = f"""
    contype int; conaffinity int; condim int; priority int; friction real[..3]; solmix real;
    solref {SOLREF}; solimp {SOLIMP}; margin real; gap real; internal bool; selfcollide text;
    activelayers int; passive bool; vertcollide bool
"""
ELASTICITY = "young real; poisson real; damping real; thickness real; elastic2d text"
SKIN = """
    name text; file text; material text; rgba single[4] = 0.5 0.5 0.5 1; inflate single = 0;
    vertex single[]; texcoord single[]; face int[]; group int = 0
"""
COMPOSITE_JOINT = f"""
    kind text; group int; stiffness real; damping real; armature real; solreffix {SOLREF};
    solimpfix {SOLIMP}; type jointtype; axis real[3]; limited tristate; range real[2];
    margin real; solreflimit {SOLREF}; solimplimit {SOLIMP}; frictionloss real;
    solreffriction {SOLREF}; solimpfriction {SOLIMP}
"""

# ---- purely visual elements --------------------------------------------------------------------

VISUAL = {
    "global": """cameraid int; orthographic bool; fovy single; ipd single; azimuth single;
        elevation single; linewidth single; glow single; offwidth int; offheight int;
        realtime single; ellipsoidinertia bool; bvactive bool""",
    "quality": "shadowsize int; offsamples int; numslices int; numstacks int; numquads int",
    "headlight": "ambient single[3]; diffuse single[3]; specular single[3]; active int",
    "map": ";".join(
        f"{name} single"
        for name in (
            "stiffness stiffnessrot force torque alpha fogstart fogend znear zfar haze "
            "shadowclip shadowscale actuatortendon"
        ).split()
    ),
    "scale": ";".join(
        f"{name} single"
        for name in (
            "forcewidth contactwidth contactheight connect com camera light selectpoint "
            "jointlength jointwidth actuatorlength actuatorwidth framelength framewidth "
            "constraint slidercrank frustum"
        ).split()
    ),
    "rgba": ";".join(
        f"{name} single[4]"
        for name in (
            "fog haze force inertia joint actuator actuatornegative actuatorpositive com camera "
            "light selectpoint connect contactpoint contactforce contactfriction contacttorque "
            "contactgap rangefinder constraint slidercrank crankbroken frustum bv bvactive"
        ).split()
    ),
}
MATERIAL = """
    name text; class text; texture text; texrepeat single[2] = 1 1; texuniform bool = false;
    emission single = 0; specular single = 0.5; shininess single = 0.5; reflectance single = 0;
    metallic single = -1; roughness single = -1; rgba single[4] = 1 1 1 1
"""
TEXTURE = """
    name text; type texturetype = cube; colorspace colorspace = auto; content_type text;
    file text; gridsize int[2] = 1 1; gridlayout text; fileright text; fileleft text;
    fileup text; filedown text; filefront text; fileback text; builtin texbuiltin = none;
    rgb1 real[3]; rgb2 real[3]; mark texmark = none; markrgb real[3]; random real; width int;
    height int; hflip bool; vflip bool; nchannel int = 3
"""
MESH = """
    name text; class text; content_type text; file text; vertex single[]; normal single[];
    texcoord single[]; face int[]; refpos real[3] = 0 0 0; refquat real[4] = 1 0 0 0;
    scale real[3] = 1 1 1; smoothnormal bool = false; maxhullvert int = -1;
    inertia meshinertia = legacy; builtin meshbuiltin = none; params real[]; material text
"""
HFIELD_ATTRIBUTES = """
    name text; content_type text; file text; nrow int = 0; ncol int = 0; size real[4] *;
    elevation single[]
"""

# ---- bodies and their relatives ----------------------------------------------------------------

BODY = f"""
    name text; childclass text; {POSE}; mocap bool = false; gravcomp real = 0;
    sleep sleep = auto; user real[]
"""
FRAME = f"name text; childclass text; {POSE}"
INERTIAL = f"""
    pos real[3] *; quat real[4] = 1 0 0 0; {TURN}; mass real *; diaginertia real[3] = 0 0 0;
    fullinertia real[6]
"""
COMPOSITE = """
    prefix text; type text; count int[..3]; offset real[3]; vertex real[]; initial text;
    curve text; size real[..3]; quat real[4]
"""
FLEXCOMP = f"""
    name text *; type flextype = grid; group int; dim int = 2; dof flexdof = full;
    count int[3] = 10 10 10; spacing real[3] = .02 .02 .02; radius real = .005; rigid bool;
    mass real = 1; inertiabox real = .005; scale real[3] = 1 1 1; file text; point real[];
    element int[]; texcoord real[]; material text; rgba real[4]; flatskin bool; {POSE};
    origin real[3]
"""
FLEX = """
    name text; group int; dim int; radius real; material text; rgba real[4]; flatskin bool;
    body text; vertex real[]; element int[]; texcoord real[]; elemtexcoord int[]; node text
"""
