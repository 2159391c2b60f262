use proptest::prelude::*;

use super::*;
use crate::need_to_know::CategoryRules;

fn terms() -> ModelProfile {
    ModelProfile {
        provider: "anthropic".into(),
        boundary: DataBoundary::Outside,
        price: None,
        output_tokens_max: 10,
        searches_web: false,
        secret: SecretStatus::Available,
    }
}

fn code(
    permissions: &InferencePermissions,
    profile: &ModelProfile,
    receipt: ReceiptStatus,
    shown: &[RequestField],
) -> &'static str {
    let fields = shown.iter().copied().collect();
    let asked = InferenceQuery {
        purpose: ModelPurpose::Conversation,
        model_ref: "anthropic/x",
        profile,
        receipt,
        fields: &fields,
        categories: &["gym".to_owned()].into(),
    };
    decide(permissions, &asked).map_or_else(|denial| denial.code, |()| "allowed")
}

#[test]
fn images_of_results_stay_here_unless_they_may_be_sent() {
    let image = Block::Attachment(crate::conversation::Attachment {
        name: "p.png".into(),
        media_type: "image/png".into(),
        data: "Zm9v".into(),
    });
    let said = |role| crate::conversation::TranscriptEntry {
        role,
        blocks: vec![image.clone()],
    };
    let request = ModelRequest {
        model_ref: "demo".into(),
        request: 0,
        system: Vec::new(),
        entries: vec![said(Role::User), said(Role::Tool)],
        tools: Vec::new(),
        answer_schema: None,
        cache: crate::prompt::PromptCache::none(crate::id::AgentId::parse("main").expect("id")),
    };
    let mut narrow = InferencePermissions::default();
    narrow.shown.remove(&RequestField::Attachments);
    let after = |permissions: &InferencePermissions, boundary| {
        let mut sent = request.clone();
        permissions.leave_out_images(&mut sent, boundary);
        sent.entries
    };
    let open = InferencePermissions::default();
    assert_eq!(after(&open, DataBoundary::Outside), request.entries);
    assert_eq!(after(&narrow, DataBoundary::Machine), request.entries);
    let note = "[attachment p.png: omitted, this agent may not send attachments to other machines]";
    let entries = after(&narrow, DataBoundary::Outside);
    assert_eq!(entries[1].blocks, [Block::Text { text: note.into() }]);
    assert_eq!(
        entries[0], request.entries[0],
        "a person's attachment is refused as a whole"
    );
}

// Conformance: L-041, L-160
/// Each gate alone, and the earlier of two denying gates.
#[test]
fn each_gate_has_its_code_and_the_first_denial_counts() {
    let open = InferencePermissions::default();
    let (all, confirmed) = (&RequestField::ALL[..], ReceiptStatus::Confirmed);
    assert_eq!(code(&open, &terms(), confirmed, all), "allowed");
    let mut shut = open.clone();
    shut.shown.remove(&RequestField::ToolResults);
    assert_eq!(code(&shut, &terms(), confirmed, all), OVERSHARED);
    assert_eq!(code(&shut, &terms(), confirmed, &[RequestField::Text]), "allowed");
    assert_eq!(code(&open, &terms(), ReceiptStatus::Missing, all), UNCONFIRMED);
    let mut scoped = open.clone();
    scoped.purposes.remove(&ModelPurpose::Conversation);
    assert_eq!(code(&scoped, &terms(), confirmed, all), OUT_OF_SCOPE);
    let mut keyless = terms();
    keyless.secret = SecretStatus::Unavailable("nowhere".into());
    assert_eq!(code(&open, &keyless, confirmed, all), NO_SECRET);
    assert_eq!(code(&shut, &keyless, confirmed, all), NO_SECRET);
    assert_eq!(code(&shut, &keyless, ReceiptStatus::Missing, all), UNCONFIRMED);
    shut.models
        .insert(ModelPurpose::Conversation, vec!["openai/*".into()]);
    assert_eq!(code(&shut, &keyless, ReceiptStatus::Missing, all), DISALLOWED);
    shut.models
        .insert(ModelPurpose::Embedding, vec!["anthropic/*".into()]);
    assert_eq!(
        code(&shut, &terms(), confirmed, &[]),
        DISALLOWED,
        "of another purpose"
    );
    shut.purposes.remove(&ModelPurpose::Conversation);
    assert_eq!(code(&shut, &keyless, ReceiptStatus::Missing, all), OUT_OF_SCOPE);
}

// Conformance: L-156, L-159
#[test]
fn the_rules_of_a_category_apply_at_their_gates() {
    let (all, confirmed) = (&RequestField::ALL[..], ReceiptStatus::Confirmed);
    let with = |rules| InferencePermissions {
        need_to_know: NeedToKnow([("gym".to_owned(), rules)].into()),
        ..InferencePermissions::default()
    };
    let no_model = with(CategoryRules {
        models: Some(vec!["openai/*".to_owned()]),
        ..CategoryRules::default()
    });
    assert_eq!(code(&no_model, &terms(), ReceiptStatus::Missing, all), DISALLOWED);
    let list = ["text".to_owned()].into();
    let text_only = with(CategoryRules {
        fields: [(Boundary::ModelRequest, [("conversation".to_owned(), list)].into())].into(),
        ..CategoryRules::default()
    });
    assert_eq!(code(&text_only, &terms(), confirmed, all), OVERSHARED);
    assert_eq!(
        code(&text_only, &terms(), confirmed, &[RequestField::Text]),
        "allowed"
    );
    let here = ModelProfile {
        boundary: DataBoundary::Machine,
        ..terms()
    };
    assert_eq!(code(&text_only, &here, confirmed, all), "allowed");
}

#[test]
fn local_models_need_no_confirmation_and_receive_all_data() {
    let mut narrow = InferencePermissions::default();
    narrow.shown.clear();
    for boundary in [DataBoundary::Process, DataBoundary::Machine] {
        let here = ModelProfile { boundary, ..terms() };
        assert_eq!(
            code(&narrow, &here, ReceiptStatus::Missing, &RequestField::ALL),
            "allowed"
        );
    }
}

#[test]
fn a_pattern_is_a_full_name_or_a_prefix() {
    assert!(matches("anthropic/*", "anthropic/claude") && matches("*", "x/y") && matches("a/b", "a/b"));
    assert!(!matches("anthropic/*", "openai/anthropic/") && !matches("a/b", "a/bc") && !matches("", "a/b"));
}

proptest! {
    /// A request never contains data that is not on the list, for any request.
    #[test]
    fn only_listed_data_is_sent(
        shown in proptest::collection::btree_set(0_usize..10, 0..10),
        held in proptest::collection::btree_set(0_usize..10, 0..10),
    ) {
        let of = |indexes: &BTreeSet<usize>| indexes.iter().map(|index| RequestField::ALL[*index]).collect::<BTreeSet<_>>();
        let permissions = InferencePermissions { shown: of(&shown), ..InferencePermissions::default() };
        let fields: Vec<RequestField> = of(&held).into_iter().collect();
        let answer = code(&permissions, &terms(), ReceiptStatus::Confirmed, &fields);
        prop_assert_eq!(answer == "allowed", held.is_subset(&shown));
    }
}
