//! Which `nvidia/cuda` images were ever published: one row a toolkit.
//!
//! Facts of NVIDIA's lists of supported and of end-of-life tags (container-images repository,
//! `doc/supported-tags.md` and `doc/unsupported-tags.md`, December 2025). Every row's systems have all three
//! tiers; cuDNN exists for tiers runtime and devel only. `cudnn` is the word in the tag.

/// A row of the table.
#[derive(Debug)]
pub(super) struct Release {
    /// The toolkit's version.
    pub(super) version: (u32, u32, u32),
    /// Whether NVIDIA has stopped to support the tags; such tags are deleted six months later.
    pub(super) end_of_life: bool,
    /// The word for cuDNN in this toolkit's tags; empty when no image carries it.
    pub(super) cudnn: &'static str,
    /// Systems with and without cuDNN.
    pub(super) with_cudnn: &'static [&'static str],
    /// Systems without cuDNN only.
    pub(super) without_cudnn: &'static [&'static str],
}

const fn release(
    version: (u32, u32, u32),
    end_of_life: bool,
    cudnn: &'static str,
    with_cudnn: &'static [&'static str],
    without_cudnn: &'static [&'static str],
) -> Release {
    Release {
        version,
        end_of_life,
        cudnn,
        with_cudnn,
        without_cudnn,
    }
}

const CURRENT: bool = false;
const END_OF_LIFE: bool = true;

const SYSTEMS_11_0_3: &[&str] = &[
    "ubuntu16.04",
    "ubuntu18.04",
    "ubuntu20.04",
    "ubi7",
    "ubi8",
    "rockylinux8",
    "centos7",
];
const SYSTEMS_11_4_3: &[&str] = &[
    "ubuntu18.04",
    "ubuntu20.04",
    "ubi7",
    "ubi8",
    "rockylinux8",
    "centos7",
];
const SYSTEMS_11_6_1: &[&str] = &["ubuntu20.04", "ubi7", "ubi8", "rockylinux8", "centos7"];
const SYSTEMS_11_7_1: &[&str] = &[
    "ubuntu18.04",
    "ubuntu20.04",
    "ubuntu22.04",
    "ubi7",
    "ubi8",
    "rockylinux8",
    "centos7",
];
const SYSTEMS_12_0_1: &[&str] = &[
    "ubuntu18.04",
    "ubuntu20.04",
    "ubuntu22.04",
    "ubi7",
    "ubi8",
    "ubi9",
    "rockylinux8",
    "rockylinux9",
    "centos7",
];
const SYSTEMS_12_1_0: &[&str] = &[
    "ubuntu20.04",
    "ubuntu22.04",
    "ubi7",
    "ubi8",
    "ubi9",
    "rockylinux8",
    "rockylinux9",
    "centos7",
];
const SYSTEMS_12_4_1: &[&str] = &[
    "ubuntu20.04",
    "ubuntu22.04",
    "ubi8",
    "ubi9",
    "rockylinux8",
    "rockylinux9",
];
const SYSTEMS_12_6_0: &[&str] = &[
    "ubuntu20.04",
    "ubuntu22.04",
    "ubuntu24.04",
    "ubi8",
    "ubi9",
    "rockylinux8",
    "rockylinux9",
];
const SYSTEMS_12_8_0: &[&str] = &[
    "ubuntu20.04",
    "ubuntu22.04",
    "ubuntu24.04",
    "ubi8",
    "ubi9",
    "rockylinux8",
    "rockylinux9",
    "oraclelinux8",
    "oraclelinux9",
];
const SYSTEMS_13_0_0: &[&str] = &[
    "ubuntu22.04",
    "ubuntu24.04",
    "ubi8",
    "ubi9",
    "rockylinux8",
    "rockylinux9",
    "oraclelinux8",
    "oraclelinux9",
];

const SYSTEMS_13_0_1: &[&str] = &[
    "ubuntu22.04",
    "ubuntu24.04",
    "ubi8",
    "ubi9",
    "ubi10",
    "rockylinux8",
    "rockylinux9",
    "rockylinux10",
    "oraclelinux8",
    "oraclelinux9",
];
const SYSTEMS_13_1_0: &[&str] = &[
    "ubuntu22.04",
    "ubuntu24.04",
    "ubi8",
    "ubi9",
    "ubi10",
    "rockylinux8",
    "rockylinux9",
    "rockylinux10",
    "oraclelinux8",
    "oraclelinux9",
    "amzn2023",
    "azl3",
];

/// Every toolkit, oldest first.
pub(super) const RELEASES: &[Release] = &[
    release((11, 0, 3), END_OF_LIFE, "cudnn8", SYSTEMS_11_0_3, &[]),
    release((11, 1, 1), END_OF_LIFE, "cudnn8", SYSTEMS_11_0_3, &[]),
    release((11, 2, 2), END_OF_LIFE, "cudnn8", SYSTEMS_11_0_3, &[]),
    release((11, 3, 1), END_OF_LIFE, "cudnn8", SYSTEMS_11_0_3, &[]),
    release((11, 4, 3), CURRENT, "cudnn8", SYSTEMS_11_4_3, &[]),
    release((11, 5, 2), CURRENT, "cudnn8", SYSTEMS_11_4_3, &[]),
    release((11, 6, 1), END_OF_LIFE, "cudnn8", SYSTEMS_11_6_1, &[]),
    release((11, 6, 2), CURRENT, "cudnn8", SYSTEMS_11_4_3, &[]),
    release((11, 7, 1), CURRENT, "cudnn8", SYSTEMS_11_7_1, &[]),
    release((11, 8, 0), CURRENT, "cudnn8", SYSTEMS_11_7_1, &[]),
    release((12, 0, 0), END_OF_LIFE, "cudnn8", SYSTEMS_11_7_1, &[]),
    release((12, 0, 1), CURRENT, "cudnn8", SYSTEMS_12_0_1, &[]),
    release(
        (12, 1, 0),
        END_OF_LIFE,
        "cudnn8",
        SYSTEMS_12_1_0,
        &["ubuntu18.04"],
    ),
    release((12, 1, 1), CURRENT, "cudnn8", SYSTEMS_12_1_0, &[]),
    release((12, 2, 0), END_OF_LIFE, "", &[], SYSTEMS_12_1_0),
    release((12, 2, 2), CURRENT, "cudnn8", SYSTEMS_12_1_0, &[]),
    release((12, 3, 0), END_OF_LIFE, "", &[], SYSTEMS_12_1_0),
    release((12, 3, 1), END_OF_LIFE, "", &[], SYSTEMS_12_1_0),
    release((12, 3, 2), CURRENT, "cudnn9", SYSTEMS_12_1_0, &[]),
    release((12, 4, 0), END_OF_LIFE, "", &[], SYSTEMS_12_1_0),
    release((12, 4, 1), CURRENT, "cudnn", SYSTEMS_12_4_1, &[]),
    release((12, 5, 0), END_OF_LIFE, "", &[], SYSTEMS_12_4_1),
    release((12, 5, 1), CURRENT, "cudnn", SYSTEMS_12_4_1, &["ubuntu24.04"]),
    release(
        (12, 6, 0),
        END_OF_LIFE,
        "cudnn",
        SYSTEMS_12_6_0,
        &["amzn2023", "cm2"],
    ),
    release(
        (12, 6, 1),
        END_OF_LIFE,
        "cudnn",
        SYSTEMS_12_6_0,
        &["amzn2023", "cm2"],
    ),
    release(
        (12, 6, 2),
        END_OF_LIFE,
        "cudnn",
        SYSTEMS_12_6_0,
        &["amzn2023", "cm2"],
    ),
    release((12, 6, 3), CURRENT, "cudnn", SYSTEMS_12_6_0, &["amzn2023", "cm2"]),
    release(
        (12, 8, 0),
        END_OF_LIFE,
        "cudnn",
        SYSTEMS_12_8_0,
        &["amzn2023", "cm2"],
    ),
    release((12, 8, 1), CURRENT, "cudnn", SYSTEMS_12_8_0, &["amzn2023", "cm2"]),
    release(
        (12, 9, 0),
        END_OF_LIFE,
        "cudnn",
        SYSTEMS_12_8_0,
        &["amzn2023", "cm2", "azl3"],
    ),
    release(
        (12, 9, 1),
        CURRENT,
        "cudnn",
        SYSTEMS_12_8_0,
        &["amzn2023", "cm2", "azl3"],
    ),
    release(
        (13, 0, 0),
        END_OF_LIFE,
        "cudnn",
        SYSTEMS_13_0_0,
        &["ubi10", "rockylinux10", "amzn2023", "cm2", "azl3"],
    ),
    release(
        (13, 0, 1),
        END_OF_LIFE,
        "cudnn",
        SYSTEMS_13_0_1,
        &["amzn2023", "cm2", "azl3"],
    ),
    release(
        (13, 0, 2),
        CURRENT,
        "cudnn",
        SYSTEMS_13_0_0,
        &["amzn2023", "azl3"],
    ),
    release((13, 1, 0), CURRENT, "", &[], SYSTEMS_13_1_0),
];
