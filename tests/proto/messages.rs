//! Messages with a value in every field, in both implementations.

use std::collections::BTreeMap;

use bollard_buildkit_proto as theirs;
use theirs::moby::buildkit::v1 as theirs_v1;
use wheelbase::proto::{apicaps, frontend, fsutil, pb, rpc, types};

use super::same;

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn what_the_builder_leaves_out_is_the_same_too() {
    let mount = pb::Mount {
        result_id: text("r"),
        ..pb::Mount::default()
    };
    same::<pb::Mount, theirs::pb::Mount>(&mount);
    let copy = pb::FileActionCopy {
        mode_str: text("u+x"),
        attempt_unpack_docker_compatibility: true,
        allow_empty_wildcard: true,
        ..pb::FileActionCopy::default()
    };
    same::<pb::FileActionCopy, theirs::pb::FileActionCopy>(&copy);
    let platform = pb::Platform {
        os: text("a"),
        architecture: text("b"),
        variant: text("c"),
        os_version: text("d"),
        os_features: vec![text("e")],
    };
    same::<pb::Platform, theirs::pb::Platform>(&platform);
    let constraints = pb::WorkerConstraints {
        filter: vec![text("a==b")],
    };
    same::<pb::WorkerConstraints, theirs::pb::WorkerConstraints>(&constraints);
    let info = pb::SourceInfo {
        filename: text("f"),
        data: vec![1],
        definition: Some(pb::Definition {
            def: vec![vec![2]],
            ..pb::Definition::default()
        }),
        language: text("TOML"),
    };
    same::<pb::SourceInfo, theirs::pb::SourceInfo>(&info);
    let proxy = pb::ProxyEnv {
        http_proxy: text("a"),
        https_proxy: text("b"),
        ftp_proxy: text("c"),
        no_proxy: text("d"),
        all_proxy: text("e"),
    };
    same::<pb::ProxyEnv, theirs::pb::ProxyEnv>(&proxy);
}

#[test]
fn requests_are_the_same() {
    let definition = pb::Definition {
        def: vec![vec![1], vec![2]],
        ..pb::Definition::default()
    };
    let platform = || {
        Some(pb::Platform {
            os: text("linux"),
            ..pb::Platform::default()
        })
    };
    // One entry per map: the other implementation does not order its maps here.
    let map = |key: &str, value: &str| BTreeMap::from([(text(key), text(value))]);
    same::<frontend::SolveRequest, theirs_v1::frontend::SolveRequest>(&frontend::SolveRequest {
        definition: Some(definition.clone()),
        frontend: text("f"),
        frontend_opt: map("k", "v"),
        allow_result_return: true,
        allow_result_array_ref: false,
        cache_imports: vec![frontend::CacheOptionsEntry {
            r#type: text("t"),
            attrs: map("a", "b"),
        }],
        frontend_inputs: BTreeMap::from([(text("i"), definition)]),
        evaluate: true,
    });
    let request = frontend::SolveRequest {
        allow_result_array_ref: true,
        ..frontend::SolveRequest::default()
    };
    same::<frontend::SolveRequest, theirs_v1::frontend::SolveRequest>(&request);
    same::<_, theirs_v1::frontend::ResolveImageConfigRequest>(&frontend::ResolveImageConfigRequest {
        r#ref: text("a"),
        platform: platform(),
        resolve_mode: text("b"),
        log_name: text("c"),
        resolver_type: 1,
        session_id: text("d"),
        store_id: text("e"),
    });
    same::<_, theirs_v1::frontend::ResolveSourceMetaRequest>(&frontend::ResolveSourceMetaRequest {
        source: Some(pb::SourceOp {
            identifier: text("git://a"),
            attrs: map("k", "v"),
        }),
        platform: platform(),
        log_name: text("b"),
        resolve_mode: text("c"),
        git: Some(frontend::ResolveSourceGitRequest { return_object: true }),
        image: Some(frontend::ResolveSourceImageRequest { no_config: true }),
    });
    let range = Some(frontend::FileRange { offset: 1, length: 2 });
    same::<_, theirs_v1::frontend::ReadFileRequest>(&frontend::ReadFileRequest {
        r#ref: text("a"),
        file_path: text("b"),
        range,
    });
    same::<_, theirs_v1::frontend::ReadDirRequest>(&frontend::ReadDirRequest {
        r#ref: text("a"),
        dir_path: text("b"),
        include_pattern: text("c"),
    });
    let stat = frontend::StatFileRequest {
        r#ref: text("a"),
        path: text("b"),
    };
    same::<_, theirs_v1::frontend::StatFileRequest>(&stat);
    same::<_, theirs_v1::frontend::EvaluateRequest>(&frontend::EvaluateRequest { r#ref: text("a") });
    same::<_, theirs_v1::frontend::WarnRequest>(&frontend::WarnRequest {
        digest: text("a"),
        level: 1,
        short: vec![2],
        detail: vec![vec![3], vec![4]],
        url: text("b"),
        info: Some(pb::SourceInfo {
            filename: text("f"),
            ..pb::SourceInfo::default()
        }),
        ranges: vec![pb::Range {
            start: Some(pb::Position {
                line: 5,
                character: 6,
            }),
            end: Some(pb::Position {
                line: 7,
                character: 8,
            }),
        }],
    });
    let error = rpc::Status {
        code: 3,
        message: text("m"),
        details: vec![prost_types::Any {
            type_url: text("t"),
            value: vec![1],
        }],
    };
    let request = frontend::ReturnRequest {
        result: None,
        error: Some(error),
    };
    same::<_, theirs_v1::frontend::ReturnRequest>(&request);
}

#[test]
fn responses_are_the_same() {
    use frontend::result::Result as Refs;
    let reference = |id: &str| frontend::Ref {
        id: text(id),
        def: Some(pb::Definition {
            def: vec![vec![1]],
            ..pb::Definition::default()
        }),
    };
    let forms = [
        Refs::RefDeprecated(text("a")),
        Refs::RefsDeprecated(frontend::RefMapDeprecated {
            refs: BTreeMap::from([(text("k"), text("v"))]),
        }),
        Refs::Ref(reference("b")),
        Refs::Refs(frontend::RefMap {
            refs: BTreeMap::from([(text("k"), reference("c"))]),
        }),
    ];
    let attestation = frontend::Attestation {
        kind: frontend::AttestationKind::Bundle.into(),
        metadata: BTreeMap::from([(text("reason"), vec![3])]),
        r#ref: Some(reference("d")),
        path: text("e"),
        in_toto_predicate_type: text("f"),
        in_toto_subjects: vec![frontend::InTotoSubject {
            kind: frontend::InTotoSubjectKind::Raw.into(),
            digest: vec![text("g")],
            name: text("h"),
        }],
    };
    for form in forms {
        let attestations = frontend::Attestations {
            attestation: vec![attestation.clone()],
        };
        let result = frontend::Result {
            attestations: BTreeMap::from([(text("k"), attestations)]),
            metadata: BTreeMap::from([(text("m"), vec![1, 2])]),
            result: Some(form),
        };
        let response = frontend::SolveResponse {
            r#ref: text("old"),
            result: Some(result),
        };
        same::<_, theirs_v1::frontend::SolveResponse>(&response);
    }
    same::<_, theirs_v1::frontend::PongResponse>(&frontend::PongResponse {
        frontend_api_caps: vec![apicaps::ApiCap {
            id: text("a"),
            enabled: true,
            deprecated: false,
            disabled_reason: text("b"),
            disabled_reason_msg: text("c"),
            disabled_alternative: text("d"),
        }],
        llb_caps: vec![apicaps::ApiCap {
            id: text("e"),
            deprecated: true,
            ..apicaps::ApiCap::default()
        }],
        workers: vec![types::WorkerRecord {
            id: text("w"),
            labels: BTreeMap::from([(text("k"), text("v"))]),
            platforms: vec![pb::Platform {
                os: text("linux"),
                ..pb::Platform::default()
            }],
        }],
    });
}

#[test]
fn what_is_found_is_the_same() {
    same::<_, theirs_v1::frontend::ResolveImageConfigResponse>(&frontend::ResolveImageConfigResponse {
        digest: text("a"),
        config: vec![1],
        r#ref: text("b"),
    });
    same::<_, theirs_v1::frontend::ResolveSourceMetaResponse>(&frontend::ResolveSourceMetaResponse {
        source: Some(pb::SourceOp {
            identifier: text("git://a"),
            attrs: BTreeMap::new(),
        }),
        image: Some(frontend::ResolveSourceImageResponse {
            digest: text("d"),
            config: vec![1],
        }),
        git: Some(frontend::ResolveSourceGitResponse {
            checksum: text("a"),
            r#ref: text("b"),
            commit_checksum: text("c"),
            commit_object: vec![1],
            tag_object: vec![2],
        }),
        http: Some(frontend::ResolveSourceHttpResponse {
            checksum: text("e"),
            filename: text("f"),
            last_modified: Some(prost_types::Timestamp { seconds: 1, nanos: 2 }),
        }),
    });
    same::<_, theirs_v1::frontend::ReadFileResponse>(&frontend::ReadFileResponse { data: vec![1] });
    let stat = fsutil::Stat {
        path: text("p"),
        mode: 1 << 31 | 0o755,
        uid: 1,
        gid: 2,
        size: 3,
        mod_time: 4,
        linkname: text("l"),
        devmajor: 5,
        devminor: 6,
        xattrs: BTreeMap::from([(text("x"), vec![7])]),
    };
    same::<_, theirs_v1::frontend::StatFileResponse>(&frontend::StatFileResponse {
        stat: Some(stat.clone()),
    });
    same::<_, theirs_v1::frontend::ReadDirResponse>(&frontend::ReadDirResponse { entries: vec![stat] });
    let definition = pb::Definition {
        def: vec![vec![1]],
        ..pb::Definition::default()
    };
    let definitions = BTreeMap::from([(text("k"), definition)]);
    same::<_, theirs_v1::frontend::InputsResponse>(&frontend::InputsResponse { definitions });
}
