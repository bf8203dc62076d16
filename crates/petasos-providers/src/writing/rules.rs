//! What a request is made valid by, rule by rule.

/// A rule that keeps requests valid whatever the transcript holds.
///
/// Each can be switched off by [`encoder_without`](crate::encoder_without), so that a test shows it is needed:
/// a rule without which every request is still valid is no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Ids of calls have a length and characters that the server takes.
    IdsFit,
    /// No two calls have the same id, and no two items of reasoning (Responses).
    IdsOnce,
    /// Names of tools have a length and characters that the server takes.
    NamesFit,
    /// No two tools are sent under one name.
    NamesDiffer,
    /// The schema of a tool's arguments is one of an object, without a choice at its top.
    SchemasAreOfObjects,
    /// The arguments of a call are a JSON object.
    ArgumentsAreAnObject,
    /// A result is never empty.
    ResultsSaySomething,
    /// Every call has a result.
    CallsHaveResults,
    /// A reply that says nothing stands for something.
    AnswersSaySomething,
    /// What somebody says is never empty.
    UsersSaySomething,
    /// The first to speak is the user.
    UserSpeaksFirst,
    /// The last to speak is the user, or a tool.
    UserSpeaksLast,
    /// Two things said by users in a row are one message.
    UsersAreJoined,
    /// Between two answers stands something of the user's.
    AnswersAreApart,
    /// Behind results the assistant speaks, where a server wants that (chat).
    ResultsAreAnswered,
    /// Messages of the assistant's have the field of its reasoning, where a server wants that (chat).
    ReasoningIsGivenBack,
    /// An empty list of tools, or an empty system text, is left out.
    NothingEmptyIsSent,
    /// What may not be said without tools is not.
    ToolChoiceNeedsTools,
    /// Where calls were made there is a list of tools, though the head has none (Messages).
    CallsNeedTools,
    /// A tool has a description.
    ToolsAreDescribed,
    /// What only its origin understands goes to its origin alone.
    OpaqueGoesHome,
    /// Of what goes back to its origin only those fields do that the wire documents (Responses, Messages).
    ListedFieldsGoBack,
    /// Reasoning goes back only with what followed it (Responses), and does not end a message (Messages).
    ReasoningHasAFollower,
    /// Reasoning of which there is no encrypted form is left out (Responses), or no signature (Messages).
    ReasoningIsSealed,
    /// The model is asked without thinking while the turn holds calls of another origin (Messages).
    NoThinkingAmongForeignCalls,
    /// There are no more cache marks than a server takes (Messages).
    FewCacheMarks,
    /// The cap of the output is no smaller than a server takes (Responses).
    OutputCapIsTaken,
}

impl Rule {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::IdsFit,
        Self::IdsOnce,
        Self::NamesFit,
        Self::NamesDiffer,
        Self::SchemasAreOfObjects,
        Self::ArgumentsAreAnObject,
        Self::ResultsSaySomething,
        Self::CallsHaveResults,
        Self::AnswersSaySomething,
        Self::UsersSaySomething,
        Self::UserSpeaksFirst,
        Self::UserSpeaksLast,
        Self::UsersAreJoined,
        Self::AnswersAreApart,
        Self::ResultsAreAnswered,
        Self::ReasoningIsGivenBack,
        Self::NothingEmptyIsSent,
        Self::ToolChoiceNeedsTools,
        Self::CallsNeedTools,
        Self::ToolsAreDescribed,
        Self::OpaqueGoesHome,
        Self::ListedFieldsGoBack,
        Self::ReasoningHasAFollower,
        Self::ReasoningIsSealed,
        Self::NoThinkingAmongForeignCalls,
        Self::FewCacheMarks,
        Self::OutputCapIsTaken,
    ];
}

/// The rules that hold: all, but in tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    off: Option<Rule>,
}

impl Rules {
    pub(crate) const ALL: Self = Self { off: None };

    pub(crate) fn without(rule: Rule) -> Self {
        Self { off: Some(rule) }
    }

    pub(crate) fn hold(self, rule: Rule) -> bool {
        self.off != Some(rule)
    }
}
