use std::collections::BTreeMap;

use super::words::locked;
use super::*;

/// A plan in which a stage's key follows from its inputs, as it does in a real one. A parent is given by its name.
fn plan(stages: &[(&str, &[&str], &[Input])]) -> CompactPlan {
    let mut built: Vec<CompactStage> = Vec::new();
    for (name, parents, own) in stages {
        let mut inputs: Vec<Input> = parents
            .iter()
            .map(|parent| {
                let stage = built.iter().find(|stage| stage.name == *parent).unwrap();
                Input::new(*parent, format!("{}0000", stage.key))
            })
            .collect();
        inputs.extend(own.iter().cloned());
        let key = super::super::key::key("stage", &inputs).short().to_owned();
        built.push(CompactStage {
            name: (*name).to_owned(),
            key,
            inputs,
        });
    }
    CompactPlan {
        name: "mai-job".into(),
        image: "serve".into(),
        platform: "linux/amd64".into(),
        stages: built,
        config: Some(BTreeMap::new()),
    }
}

struct Setting {
    tier: &'static str,
    torch: (&'static str, u8),
    idna: Option<&'static str>,
    big: Option<&'static str>,
}

const BEFORE: Setting = Setting {
    tier: "unresolved docker.io/nvidia/cuda:12.8.1-base",
    torch: ("2.8.0", 1),
    idna: Some("3.10"),
    big: None,
};

/// A job with a big and a small layer, and a kernel that is compiled against both.
fn job(setting: &Setting) -> CompactPlan {
    let torch = [locked(
        "torch",
        setting.torch.0,
        setting.torch.1,
        "mai-job > torch",
    )];
    let mut small = vec![locked("six", "1.17.0", 3, "mai-job > six")];
    small.extend(
        setting
            .idna
            .map(|version| locked("idna", version, 4, "mai-job > anyio > idna")),
    );
    let digest = [Input::new("digest", setting.tier)];
    let big: Vec<Input> = setting
        .big
        .map(|version| locked("idna", version, 4, "mai-job > anyio > idna"))
        .into_iter()
        .collect();
    let source = [Input::new("source distribution", "00112233")];
    let mut stages: Vec<(&str, &[&str], &[Input])> = vec![
        ("tier base", &[], &digest),
        ("venv", &["tier base"], &[]),
        ("layer torch", &["tier base", "venv"], &torch),
        ("layer packages 1/8", &["tier base", "venv"], &small),
        ("wheel flash-attn", &["tier base", "venv", "layer torch"], &source),
        (
            "layer flash-attn",
            &["tier base", "venv", "wheel flash-attn"],
            &[],
        ),
    ];
    if !big.is_empty() {
        stages.push(("layer idna", &["tier base", "venv"], &big));
    }
    plan(&stages)
}

fn said(before: &Setting, after: &Setting) -> String {
    explain(&job(before), &job(after)).to_string()
}

#[test]
fn the_same_plan_changes_nothing() {
    assert_eq!(said(&BEFORE, &BEFORE), "image serve: nothing changes\n");
}

#[test]
fn a_bump_is_told_once_and_its_consequences_by_its_name() {
    let after = Setting {
        torch: ("2.8.1", 2),
        ..BEFORE
    };
    insta::assert_snapshot!(said(&BEFORE, &after), @r"
    image serve: 3 of 6 stages change
      layer torch: torch 2.8.0 -> 2.8.1, needed by mai-job > torch
      wheel flash-attn: because of layer torch
      layer flash-attn: because of layer torch, through wheel flash-attn
    ");
}

#[test]
fn other_files_of_one_version() {
    let after = Setting {
        torch: ("2.8.0", 9),
        ..BEFORE
    };
    insta::assert_snapshot!(said(&BEFORE, &after), @r"
    image serve: 3 of 6 stages change
      layer torch: torch 2.8.0: other files of the same version, needed by mai-job > torch
      wheel flash-attn: because of layer torch
      layer flash-attn: because of layer torch, through wheel flash-attn
    ");
}

#[test]
fn packages_come_and_go() {
    let without = Setting { idna: None, ..BEFORE };
    insta::assert_snapshot!(said(&BEFORE, &without), @r"
    image serve: 1 of 6 stages change
      layer packages 1/8: idna 3.10 is no longer needed
    ");
    insta::assert_snapshot!(said(&without, &BEFORE), @r"
    image serve: 1 of 6 stages change
      layer packages 1/8: idna 3.10 is new, needed by mai-job > anyio > idna
    ");
}

#[test]
fn a_package_that_grows_moves_to_a_layer_of_its_own() {
    let after = Setting {
        idna: None,
        big: Some("4.0"),
        ..BEFORE
    };
    insta::assert_snapshot!(said(&BEFORE, &after), @r"
    image serve: 2 of 7 stages change
      layer packages 1/8: idna 3.10, moved to layer idna
      layer idna: new, idna 3.10 -> 4.0, moved from layer packages 1/8, needed by mai-job > anyio > idna
    ");
    insta::assert_snapshot!(said(&after, &BEFORE), @r"
    image serve: 1 of 6 stages change, 1 is gone
      layer packages 1/8: idna 4.0 -> 3.10, moved from layer idna, needed by mai-job > anyio > idna
      layer idna: gone, idna 4.0, moved to layer packages 1/8
    ");
}

#[test]
fn another_tier_is_the_root_of_everything() {
    let after = Setting {
        tier: "unresolved docker.io/nvidia/cuda:12.9.0-base",
        torch: ("2.8.1", 2),
        ..BEFORE
    };
    insta::assert_snapshot!(said(&BEFORE, &after), @r"
    image serve: 6 of 6 stages change
      tier base: docker.io/nvidia/cuda:12.8.1-base -> docker.io/nvidia/cuda:12.9.0-base
      venv: because of tier base
      layer torch:
        torch 2.8.0 -> 2.8.1, needed by mai-job > torch
        because of tier base
      layer packages 1/8: because of tier base
      wheel flash-attn: because of tier base and layer torch
      layer flash-attn: because of tier base and layer torch
    ");
}

#[test]
fn a_digest_that_one_side_does_not_know_is_no_change() {
    let resolved = Setting {
        tier: "0123456789abcdef",
        ..BEFORE
    };
    insta::assert_snapshot!(said(&resolved, &BEFORE), @r"
    image serve: nothing changes
      taken as unchanged, since one of the plans knows no digest: tier base
    ");
    let bumped = Setting {
        torch: ("2.8.1", 2),
        ..BEFORE
    };
    insta::assert_snapshot!(said(&resolved, &bumped), @r"
    image serve: 3 of 6 stages change
      layer torch: torch 2.8.0 -> 2.8.1, needed by mai-job > torch
      wheel flash-attn: because of layer torch
      layer flash-attn: because of layer torch, through wheel flash-attn
      taken as unchanged, since one of the plans knows no digest: tier base
    ");
}

#[test]
fn numbers_of_equal_names_are_matched_by_content() {
    let (one, two) = (
        [locked("six", "1.17.0", 1, "six")],
        [locked("ninja", "1.13", 2, "ninja")],
    );
    let before = plan(&[
        ("layer packages 1/8", &[], &one),
        ("layer packages 1/8 #2", &[], &two),
    ]);
    let bumped = [locked("ninja", "1.14", 3, "ninja")];
    let after = plan(&[
        ("layer packages 1/8 #4", &[], &bumped),
        ("layer packages 1/8 #7", &[], &one),
    ]);
    insta::assert_snapshot!(explain(&before, &after), @r"
    image serve: 1 of 2 stages change
      layer packages 1/8 #4: ninja 1.13 -> 1.14
    ");
}

#[test]
fn inputs_that_are_no_packages() {
    let inputs = |values: &[(&str, &str)]| -> Vec<Input> {
        values
            .iter()
            .map(|(name, value)| Input::new(*name, *value))
            .collect()
    };
    let before = inputs(&[
        ("step", "0123456789abcdef"),
        ("package", "git"),
        ("package", "cmake"),
        ("env CC", "gcc"),
        ("network", "yes"),
    ]);
    let after = inputs(&[
        ("step", "1123456789abcdef"),
        ("package", "cmake"),
        ("package", "ninja-build"),
        ("package", "ccache"),
        ("env CC", "clang"),
        ("headers", "yes"),
    ]);
    let (before, after) = (
        plan(&[("wheel a", &[], &before)]),
        plan(&[("wheel a", &[], &after)]),
    );
    insta::assert_snapshot!(explain(&before, &after), @r"
    image serve: 1 of 1 stages change
      wheel a:
        env CC gcc -> clang
        headers yes is new
        network yes is no longer asked for
        package ninja-build is new
        package ccache is new
        package git is no longer asked for
        the text of its step, which another release of Wheelbase has written anew
    ");
}

#[test]
fn what_a_stage_stands_on_can_change() {
    let six = [locked("six", "1.17.0", 1, "six")];
    let one = [locked("torch", "2.8.0", 2, "torch")];
    let stages = |needs: &'static [&'static str]| {
        plan(&[
            ("layer torch", &[], &one),
            ("layer six", &[], &six),
            ("wheel a", needs, &[]),
        ])
    };
    insta::assert_snapshot!(explain(&stages(&["layer torch"]), &stages(&["layer six"])), @r"
    image serve: 1 of 3 stages change
      wheel a:
        it stands on layer six now
        it does not stand on layer torch any more
    ");
    insta::assert_snapshot!(
        explain(&stages(&["layer torch", "layer six"]), &stages(&["layer six", "layer torch"])), @r"
    image serve: 1 of 3 stages change
      wheel a: the order of its inputs
    ");
    let mut other = stages(&["layer six"]);
    other.stages[2].key = "ffffffffffff".into();
    insta::assert_snapshot!(explain(&stages(&["layer six"]), &other), @r"
    image serve: 1 of 3 stages change
      wheel a: the way a release of Wheelbase makes keys
    ");
}

#[test]
fn a_config_changes_without_a_layer() {
    let before = job(&BEFORE);
    let mut after = before.clone();
    after.config = Some(BTreeMap::from([
        ("Entrypoint".to_owned(), "1".to_owned()),
        ("Env CC".to_owned(), "2".to_owned()),
    ]));
    insta::assert_snapshot!(explain(&before, &after), @r"
    image serve: no stage changes
      image config: Entrypoint, Env CC
    ");
    after.config = None;
    assert_eq!(
        explain(&before, &after).to_string(),
        "image serve: nothing changes\n"
    );
}

#[test]
fn many_roots_are_counted() {
    let names = ["layer a", "layer b", "layer c", "layer d", "layer e"];
    let stages = |version: &'static str| {
        let inputs: Vec<[Input; 1]> = names.iter().map(|_| [locked("x", version, 1, "x")]).collect();
        let mut stages: Vec<(&str, &[&str], &[Input])> = Vec::new();
        for (name, input) in names.iter().zip(&inputs) {
            stages.push((name, &[], input));
        }
        stages.push(("wheel w", &names, &[]));
        plan(&stages)
    };
    let explained = explain(&stages("1"), &stages("2"));
    let last = explained.changes.last().unwrap();
    assert_eq!(last.because_of.len(), 5);
    assert!(
        explained
            .to_string()
            .contains("wheel w: because of layer a, layer b, layer c and 2 others"),
        "{explained}"
    );
}

#[test]
fn a_plan_that_names_itself_as_its_parent_ends() {
    let mut strange = job(&BEFORE);
    let key = strange.stages[0].key.clone();
    strange.stages[0].inputs.push(Input::new("tier base", key));
    assert!(!explain(&job(&BEFORE), &strange).stages.to_string().is_empty());
    assert!(!explain(&strange, &job(&BEFORE)).stages.to_string().is_empty());
}
