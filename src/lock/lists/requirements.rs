//! Small `requirements.txt` files, one for each thing that they can say: what pip takes is much more than what pins.

use proptest::prelude::*;

use super::{ONE, all, names, read};
use crate::diagnostic::SourceFile;
use crate::lock::testing::target;
use crate::lock::{Artifact, Indexes, Lock, Source, SubsetError};

const TWO: &str = "2222222222222222222222222222222222222222222222222222222222222222";

fn requirements(text: &str) -> Lock {
    let (lock, warnings) = read("requirements.txt", text).unwrap();
    assert_eq!(warnings, []);
    lock
}

fn refused_requirements(text: &str) -> Vec<String> {
    read("requirements.txt", text).unwrap_err()
}

#[test]
fn hashed_requirements_are_pins() {
    let text = format!(
        "# by hand\n--index-url https://index.example/simple\n--extra-index-url=https://index.example/cu128 # more\n\
         -f https://files.example/links.html\n--require-hashes\n\
         Torch==2.8.0+cu128 ; sys_platform == 'linux' \\\n    --hash=sha256:{TWO} \\\n    --hash sha256:{ONE}\n    # via x\n\
         w===1.0;sys_platform=='win32' --hash=sha256:{ONE}\n\
         jax[cuda, x] == 0.5.0 --hash=sha256:{ONE}\n\n\
         u @ https://files.example/u-1.0-py3-none-any.whl \\\n --hash=sha256:{ONE}\n\
         s @ https://files.example/s-1.0.tar.gz#sha256={ONE}&subdirectory=x ; python_version > '3'\n\
         g @ git+https://git.example/g@0123456789abcdef0123456789abcdef01234567#subdirectory=py\n"
    );
    let lock = requirements(&text);
    assert_eq!(names(&lock, &all("")), ["g", "jax", "s", "torch", "u"]);
    let subset = lock.subset(&all(""), &target()).unwrap();
    let torch = subset.get(&"torch".parse().unwrap()).unwrap();
    assert_eq!(
        torch.key_line(),
        format!("torch==2.8.0+cu128 sha256:{ONE} sha256:{TWO}")
    );
    assert_eq!(
        torch.source,
        Source::Indexes(Indexes {
            main: Some("https://index.example/simple".to_owned()),
            others: vec!["https://index.example/cu128".to_owned()],
            pages: vec!["https://files.example/links.html".to_owned()],
        })
    );
    let artifact = |name: &str| subset.get(&name.parse().unwrap()).unwrap().artifact.clone();
    assert!(matches!(artifact("jax"), Artifact::Pinned { hashes } if hashes.len() == 1));
    assert!(matches!(artifact("u"), Artifact::Wheel { url: Some(url), .. } if url.ends_with("any.whl")));
    assert!(
        matches!(artifact("s"), Artifact::Sdist { url: Some(url), sha256: Some(_), subdirectory: Some(_), .. } if url.ends_with("s-1.0.tar.gz"))
    );
    assert!(matches!(artifact("g"), Artifact::Git { url, .. } if url == "https://git.example/g"));
    let error = lock.sdist(&"torch".parse().unwrap(), None).unwrap_err();
    assert!(
        error.message().contains("hashes of its files"),
        "{}",
        error.message()
    );
}

#[test]
fn the_order_of_lines_and_hashes_is_nothing() {
    let one = requirements(&format!(
        "a==1 --hash=sha256:{ONE} --hash=sha256:{TWO}\nb==1 --hash=sha256:{ONE}\n"
    ));
    let two = requirements(&format!(
        "b==1 --hash=sha256:{ONE}\n\na==1 --hash=sha256:{TWO} --hash=sha256:{ONE}\n"
    ));
    assert_eq!(
        one.subset(&all(""), &target()).unwrap(),
        two.subset(&all(""), &target()).unwrap()
    );
}

#[test]
fn what_pins_nothing_is_refused_at_its_place() {
    let hash = format!("--hash=sha256:{ONE}");
    let found = refused_requirements(&format!(
        "a==1\nb>=1 {hash}\nc==1.* {hash}\nd {hash}\ne==1,<2 {hash}\nf==1 --hash=sha256:12\nf==1 --hash=md5:{ONE}\n"
    ));
    assert_eq!(
        found,
        [
            "requirements.txt:1:1: `a` has no hash: nothing says which file it is",
            "requirements.txt:2:2: `>=1` does not pin `b` to one version",
            "requirements.txt:3:2: `==1.*` does not pin `c` to one version",
            "requirements.txt:4:1: `d` is not pinned to a version",
            "requirements.txt:5:2: `==1,<2` does not pin `e` to one version",
            "requirements.txt:6:13: a hash is `sha256:` (or sha384, sha512) and its hex digits",
            "requirements.txt:7:13: a hash is `sha256:` (or sha384, sha512) and its hex digits",
        ]
    );
    // What is for another platform may have no file, and so no hash.
    let lock = requirements(&format!(
        "a==1 ; sys_platform == 'win32'\nb==1 {hash}\nc==1 ; sys_platform == 'linux'\n"
    ));
    let errors = lock.subset(&all(""), &target()).unwrap_err();
    let [SubsetError::Malformed { what, location }] = errors.as_slice() else {
        panic!("{errors:?}")
    };
    assert!(what.contains("`c` has no hash"));
    assert_eq!(location.file.position(location.range.start), (3, 0));
    let found = refused_requirements(
        "-r base.txt\n  -c constraints.txt\n--index-url ${INDEX}\n--find-links ./wheels\n-e ./lib\n./lib\n\
         https://files.example/a.whl\ngit+https://git.example/a\nb @ git+https://git.example/b@main\n\
         c @ https://files.example/c.whl\nd @ file:///d.whl\n--no-binary :all:\n--no-index\n--trusted-host h\n-i\n\
         e==1 --config-settings=x\nf[x==1\n==1\n",
    );
    let places: Vec<&str> = found
        .iter()
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "1:1", "2:3", "3:13", "4:14", "5:1", "6:1", "7:1", "8:1", "9:5", "10:5", "11:5", "12:1", "13:1",
            "14:1", "15:1", "16:6", "17:1", "18:1"
        ]
        .map(|place| format!("requirements.txt:{place}"))
    );
    let file = SourceFile::new("requirements.txt", "-r base.txt\n");
    let errors = Lock::parse(&file).unwrap_err();
    let drawn = errors[0].render(false);
    assert!(
        drawn.contains("^^") && drawn.contains("uv pip compile"),
        "{drawn}"
    );
    let (_, warnings) = read("requirements.txt", "--novelty\n").unwrap();
    assert_eq!(warnings.len(), 1);
}

proptest! {
    #[test]
    fn no_requirements_make_it_panic(text in "([a-z.]{0,3}(==|>=|@|\\[| ;|;)?[a-z0-9.*'\"\\]]{0,4}( --hash=(sha256:)?[0-9a-f]{0,3})?( \\\\)?( ?#x)?[\r\n \\\\é\u{feff}-]{0,3}){0,6}") {
        if let Err(errors) = Lock::parse(&SourceFile::new("requirements.txt", text)) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                error.render(false);
            }
        }
    }
}
