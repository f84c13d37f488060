//! Files of the build context in the image.

use anyhow::Result;

use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::project::Project;

/// What a copy changes is taken out of the tier and laid over it again, folders above the copy included.
#[test]
fn a_copy_leaves_the_folders_above_it_as_they_are() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let before = Build::of(&lab, &project).target("serve").export()?.1;
    let file = |to: &str| format!("{{ from = \"config/serve.toml\", to = \"{to}\" }}");
    let copies = [
        "/bin/settings",
        "/tmp/settings",
        "/root/settings",
        "/new/folder/settings",
    ]
    .map(file);
    project.spec(
        "{ from = \"config\", to = \"/etc/serve\" }",
        &format!(
            "{{ from = \"config\", to = \"/etc/serve\" }}, {}",
            copies.join(", ")
        ),
    )?;
    let after = Build::of(&lab, &project).target("serve").export()?.1;
    // `/bin` is a link: what is copied into it goes where it leads.
    assert_eq!(before.entries["bin"].kind, "link");
    for path in [
        "usr/bin/settings",
        "tmp/settings",
        "root/settings",
        "new/folder/settings",
    ] {
        assert!(after.has(path), "{path}");
    }
    assert_eq!(after.entries["tmp"].mode, 0o1777);
    for (path, entry) in &before.entries {
        assert_eq!(after.entries.get(path), Some(entry), "{path}");
    }
    Ok(())
}
