//! Whether a wheel has code for the GPUs that it was compiled for.
//!
//! Some builds leave their kernels out where they see no GPU, or compile for a list of their own, and succeed. What nvcc has
//! put into the files of the wheel tells.

use super::contents::{Code, Contents};
use super::model::Needed;
use crate::diagnostic::Diagnostic;
use crate::rules::Rule;

/// Warns of wheels that have nothing for a GPU of `gpu.archs`.
pub fn check(wheels: &[(&Needed, Contents)]) -> Vec<Diagnostic> {
    let checked = wheels
        .iter()
        .filter(|(needed, contents)| !needed.archs.is_empty() && !contents.code.contains(&Code::Other));
    checked
        .filter_map(|(needed, contents)| {
            let lacking: Vec<&str> = needed
                .archs
                .iter()
                .filter(|arch| !runs_on(contents, arch))
                .map(String::as_str)
                .collect();
            if lacking.is_empty() {
                return None;
            }
            let wheel = &needed.wheel;
            let (head, help) = if contents.code.is_empty() {
                (
                    format!("wheel `{wheel}` has no code for any GPU"),
                    format!(
                        "its build may leave its kernels out where it sees no GPU: look into its documentation for what \
                         forces them; write arch = \"any\" in [wheels.{wheel}] when it has none"
                    ),
                )
            } else {
                (
                    format!("wheel `{wheel}` has no code for {}", lacking.join(", ")),
                    "its build does not heed TORCH_CUDA_ARCH_LIST or CMAKE_CUDA_ARCHITECTURES: look into its documentation \
                     for what it goes by, or patch it"
                        .to_owned(),
                )
            };
            Some(
                Rule::NoDeviceCode
                    .warning(head)
                    .at(
                        needed.location.clone(),
                        format!("compiled for {}", needed.archs.join(", ")),
                    )
                    .help(help),
            )
        })
        .collect()
}

/// Whether a GPU of an item of `archs` (`9.0`, `9.0a`, `12.0+PTX`) can run something of the wheel. What cannot be read
/// counts as run.
fn runs_on(contents: &Contents, arch: &str) -> bool {
    let digits: String = arch
        .chars()
        .take_while(|c| *c != '+')
        .filter(char::is_ascii_digit)
        .collect();
    let Ok(wanted) = digits.parse::<u32>() else {
        return true;
    };
    contents.code.iter().any(|code| match code {
        Code::Machine(number) => number / 10 == wanted / 10 && *number <= wanted,
        Code::Ptx(number) => *number <= wanted,
        Code::Other => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Location, SourceFile};
    use crate::lock::{PythonVersion, Target};
    use crate::platform::Platform;

    fn warnings(archs: &[&str], list: &str) -> Vec<String> {
        let file = SourceFile::new("wheelbase.toml", "[wheels.fast]\n");
        let needed = Needed {
            list: super::super::StageId(0),
            wheel: "fast".to_owned(),
            may_lack: [].into(),
            archs: archs.iter().map(|arch| (*arch).to_owned()).collect(),
            target: Target {
                platform: Platform::linux_amd64(),
                python: PythonVersion::new(3, 12),
                glibc: (2, 35),
            },
            location: Location::new(&file, 8..12),
        };
        let warnings = check(&[(&needed, Contents::read(list).unwrap())]);
        warnings.iter().map(|warning| warning.render(false)).collect()
    }

    #[test]
    fn what_has_no_kernels_is_warned_of() {
        let shown = warnings(&["8.0", "9.0"], "[\"a.so\", \"libc.so.6\"]\n");
        insta::assert_snapshot!(shown.join("\n"));
        // A wheel that is the same for all GPUs is not asked.
        assert!(warnings(&[], "").is_empty());
    }

    #[test]
    fn what_lacks_a_gpu_names_it() {
        let shown = warnings(&["8.0", "9.0a", "12.0+PTX"], "[\"a.so\", \"sm\", \"80\"]\n");
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn code_runs_on_gpus_after_it() {
        assert!(warnings(&["8.6"], "[\"a.so\", \"sm\", \"80\"]").is_empty());
        assert_eq!(warnings(&["8.0"], "[\"a.so\", \"sm\", \"86\"]").len(), 1);
        assert_eq!(warnings(&["9.0"], "[\"a.so\", \"sm\", \"80\"]").len(), 1);
        assert!(warnings(&["9.0", "12.0"], "[\"a.so\", \"ptx\", \"80\"]").is_empty());
        assert!(warnings(&["9.0"], "[\"a.cubin\", \"other\", \"0\"]").is_empty());
    }
}
