//! From settings to an agent: what a command needs before its first step.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_core::approval::{Action, Policy, Rule};
use petasos_core::entry::{Body, Entry, Origin, TurnStart};
use petasos_core::id::{Digest, SessionId};
use petasos_core::request::{Target, Wire};
use petasos_core::session::Terms;
use petasos_core::time::Permille;
use petasos_core::turn::{Mode, OnAsk};
use petasos_store::{Disk, FolderStore, Holder, Store, StoreError};
use petasos_tools::{CondenseRule, FetchOptions, Mask, Options, Registry, Tool, Workspace, builtin};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use crate::agent::{Agent, Parts};
use crate::clock::SystemClock;
use crate::config::{ConfigError, Environment, Flags, ModelNamed, ModelSettings, Places, Settings};
use crate::inspect::{Following, WriteError, Written, written};
use crate::models::{Chosen, Endpoints};
use crate::secrets::mask;

/// What commands that the agent runs need before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// A person's yes.
    Asked,
    /// Nothing: whoever began the run said yes to all of them.
    Allowed,
}

/// Settings that were read, and what they are about.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Folders.
    pub places: Places,
    /// Variables, those of the home folder's `.env` among them.
    pub environment: Environment,
    /// Settings.
    pub settings: Settings,
    flags: Flags,
    mask: Arc<Mask>,
    disk: Arc<dyn Disk>,
    guardian: Option<PathBuf>,
}

impl Setup {
    /// Reads what there is.
    ///
    /// # Errors
    /// [`ConfigError`]: what is wrong, where, and what next.
    pub fn read(
        environment: Environment,
        workspace: Option<&Path>,
        flags: Flags,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, ConfigError> {
        let places = Places::find(&environment, workspace)?;
        let kept = Environment::file_of(&places.home)?;
        let environment = environment.with(&kept);
        let settings = Settings::resolve(&places, &environment, &flags)?;
        let mask = Arc::new(mask(&environment, &settings, &kept));
        Ok(Self { places, environment, settings, flags, mask, disk, guardian: None })
    }

    /// The same with commands guarded by a program that begins with [`guardian`](petasos_tools::guardian).
    #[must_use]
    pub fn guarded_by(self, guardian: Option<PathBuf>) -> Self {
        Self { guardian, ..self }
    }

    /// What there is to look at sessions with: no settings are read, so that nothing wrong in them is in the way.
    ///
    /// # Errors
    /// As for [`Places::find`].
    pub fn to_look(
        environment: Environment,
        workspace: Option<&Path>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, ConfigError> {
        let places = Places::find(&environment, workspace)?;
        let (settings, flags, mask) = (Settings::default(), Flags::default(), Arc::default());
        Ok(Self { places, environment, settings, flags, mask, disk, guardian: None })
    }

    /// The same in another workspace: that of a session.
    ///
    /// # Errors
    /// As for [`Setup::read`].
    pub fn in_workspace(&self, workspace: &Path) -> Result<Self, ConfigError> {
        let places = Places::find(&self.environment, Some(workspace))?;
        let settings = Settings::resolve(&places, &self.environment, &self.flags)?;
        Ok(Self { places, settings, ..self.clone() })
    }

    /// The same for a session that goes on, and whom it asked last, if it came to that: what the command line leaves
    /// open of the model is the session's own. Without this a key that is named for it alone would belong to no
    /// place, or to another one.
    ///
    /// # Errors
    /// What the store says of its log.
    pub async fn for_session(mut self, session: &SessionId) -> Result<(Self, Option<Target>), StoreError> {
        let (store, id) = (self.store(), session.clone());
        let contents = match spawn_blocking(move || store.read(&id)).await {
            Ok(contents) => contents?,
            Err(error) => return Err(fault(&error.to_string())),
        };
        let Some(start) = last_start(&contents.entries) else { return Ok((self, None)) };
        let model = &mut self.settings.model;
        let is_own = self.flags.base_url.is_none() && self.flags.names_a_model();
        if is_own || model.place().is_none() {
            let place = start.target.provider.to_string();
            let may_be_at = model.place().is_none_or(|named| *named == place);
            let is_own_model = model.name.as_deref().is_none_or(|name| name == &*start.target.model);
            let own_set = ModelSettings { price: model.set.price.filter(|_| is_own_model), ..model.set };
            let (base_url, provider) =
                if place.contains("://") { (Some(place), None) } else { (None, Some(place)) };
            *model = ModelNamed {
                provider,
                name: self.flags.model.clone().or_else(|| Some(start.target.model.to_string())),
                base_url,
                api_mode: self.flags.api_mode.or(Some(start.target.wire)),
                // What stands with another place is about another model.
                tool_mode: model.tool_mode.filter(|_| may_be_at).or(Some(start.target.tool_mode)),
                api_key_env: match (&self.flags.api_key_env, may_be_at) {
                    (Some(named), _) => Some(named.clone()),
                    (None, true) => model.api_key_env.take(),
                    // It belongs to another place.
                    (None, false) => None,
                },
                set: if may_be_at { own_set } else { ModelSettings::default() },
            };
        }
        let own = Some(start.target.clone());
        Ok((self, own))
    }

    /// Where sessions are kept.
    pub fn store(&self) -> FolderStore {
        FolderStore::on(Arc::clone(&self.disk), &self.places.home, self.settings.durability)
    }

    /// The model: as it is named, else the first that a named server lists, else one that is found on this
    /// machine.
    ///
    /// # Errors
    /// Why there is none, and the shortest ways to get one.
    pub async fn choose(&self) -> Result<Chosen, ConfigError> {
        crate::models::choose(&self.settings, &self.environment).await
    }

    /// An agent that works in the workspace.
    ///
    /// # Errors
    /// A workspace that cannot be opened, or a setting that cannot be kept.
    pub fn agent(&self, commands: Commands) -> Result<Agent, ConfigError> {
        let settings = &self.settings;
        let registry = self.registry()?;
        Ok(Agent::new(Parts {
            store: Arc::new(self.store()),
            holder: holder(),
            providers: Arc::new(Endpoints::new(settings, &self.environment)),
            registry: Arc::new(registry),
            policy: Arc::new(policy(commands)),
            workspace: self.places.workspace.clone(),
            result_cap: settings.result_cap,
            record: settings.record,
            mask: Arc::clone(&self.mask),
            clock: Arc::new(SystemClock::new()),
            chance,
        }))
    }

    /// The tools, as these settings have them.
    pub(crate) fn registry(&self) -> Result<Registry, ConfigError> {
        let tools = self.all_tools(self.settings.run_tests.clone())?;
        let is_on = |name: &str| self.settings.disabled.iter().all(|disabled| disabled != name);
        Ok(Registry::new(tools.into_iter().filter(|tool| is_on(&tool.spec().name))))
    }

    /// All tools there are with that command of `run_tests`, also those that are switched off.
    pub(crate) fn all_tools(&self, run_tests: Option<String>) -> Result<Vec<Arc<dyn Tool>>, ConfigError> {
        let settings = &self.settings;
        let workspace = Workspace::open(&self.places.workspace).map_err(|error| {
            ConfigError::Setting(format!(
                "the workspace cannot be opened: {error}; name another with --workspace DIR"
            ))
        })?;
        let workspace =
            workspace.with_closed(&self.places.home).with_closed(&self.places.workspace.join(".petasos"));
        let options = Options {
            run_tests,
            limit: settings.tool_limit,
            condense: settings.condense.clone(),
            fetch: FetchOptions { private: settings.fetch_private.clone(), ..FetchOptions::default() },
            guardian: self.guardian.clone(),
            ..Options::default()
        };
        let tools = builtin(Arc::new(workspace), options);
        let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.to_string()).collect();
        check_tools("tools.disabled", settings.disabled.iter().map(String::as_str), &names)?;
        check_tools("tools.condense", settings.condense.iter().map(CondenseRule::tool), &names)?;
        Ok(tools)
    }

    /// The terms of a new session.
    pub fn terms(&self, chosen: &Chosen, on_ask: OnAsk) -> Terms {
        Terms {
            limits: self.settings.limits.clone(),
            mode: Mode { serial: self.settings.serial, on_ask, guards: self.settings.guards },
            target: chosen.target.clone(),
            fallback: chosen.fallback.clone(),
        }
    }

    /// Whether a limit of money can be kept under these terms: the price of each target must be known (B01).
    ///
    /// # Errors
    /// Of which it is not, and the setting that tells it.
    pub async fn check_prices(&self, terms: &Terms) -> Result<(), ConfigError> {
        if terms.limits.micro_usd.is_none() {
            return Ok(());
        }
        let targets = std::iter::once(&terms.target).chain(&terms.fallback);
        crate::models::check_prices(&self.settings, &self.environment, targets).await
    }

    /// The terms of a session that goes on: with another model if one was chosen, else with its own.
    pub fn terms_for(&self, log: &[Entry], chosen: Option<&Chosen>, on_ask: OnAsk) -> Terms {
        let (target, fallback) = match (chosen, last_start(log)) {
            (Some(chosen), _) => (chosen.target.clone(), chosen.fallback.clone()),
            (None, Some(start)) => (start.target.clone(), start.fallback.clone()),
            (None, None) => (crate::models::unnamed(), Vec::new()),
        };
        let mode = Mode { serial: self.settings.serial, on_ask, guards: self.settings.guards };
        Terms { limits: self.settings.limits.clone(), mode, target, fallback }
    }

    /// What happened in a session, as events; changes nothing, and needs no lock.
    ///
    /// # Errors
    /// What the store says.
    pub async fn show(&self, session: &SessionId) -> Result<crate::inspect::Shown, StoreError> {
        let (store, id) = (self.store(), session.clone());
        match spawn_blocking(move || store.read(&id)).await {
            Ok(contents) => Ok(crate::inspect::Shown::of(session, contents?)),
            Err(error) => Err(fault(&error.to_string())),
        }
    }

    /// What is in a session, and what comes while another process works in it; changes nothing, and needs no lock.
    pub fn follow(&self, session: &SessionId) -> Following {
        let (target, fallback) = (crate::models::unnamed(), Vec::new());
        let mode = Mode { serial: false, on_ask: OnAsk::Ask, guards: self.settings.guards };
        let terms = Terms { limits: self.settings.limits.clone(), mode, target, fallback };
        Following::new(Arc::new(self.store()), session.clone(), terms)
    }

    /// Writes a request of a session again: the last try of that step, counted from 1 over all its turns, else the
    /// last request; for its own wire, or for another one. Changes nothing, and needs no lock.
    ///
    /// # Errors
    /// There is none such, or what the store says.
    pub async fn request(
        &self,
        session: &SessionId,
        wire: Option<Wire>,
        step: Option<u64>,
    ) -> Result<Written, RequestError> {
        let (store, id) = (self.store(), session.clone());
        let read = spawn_blocking(move || store.read(&id)).await;
        let contents = read.map_err(|error| fault(&error.to_string()))??;
        Ok(written(&contents.entries, wire, step)?)
    }
}

/// What is wrong with a request that is to be written again.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The log does not hold it.
    #[error(transparent)]
    Log(#[from] WriteError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The newest start of a turn: whom the session asked last. What stands in an imported file is no such start: the
/// file would say where this machine's keys go.
fn last_start(log: &[Entry]) -> Option<&TurnStart> {
    let start = log
        .first()
        .and_then(|first| if let Body::SessionStart(start) = &first.body { Some(start) } else { None });
    let imported =
        start.and_then(|start| if let Origin::Import { seq, .. } = &start.origin { *seq } else { None });
    let own = log.iter().rev().take_while(|entry| imported.is_none_or(|upto| entry.seq > upto));
    own.filter_map(|entry| {
        let Body::TurnStart(start) = &entry.body else { return None };
        Some(start)
    })
    .next()
}

pub(crate) fn fault(why: &str) -> StoreError {
    StoreError::Io { path: PathBuf::from("sessions"), source: std::io::Error::other(why.to_owned()) }
}

/// Files of the workspace may be written, for that is what the agent is there for and what it cannot leave;
/// commands reach further.
pub(crate) fn policy(commands: Commands) -> Policy {
    let rule = |tool: &str, action, name: &str| Rule { tool: tool.into(), action, name: name.into() };
    let mut rules = vec![
        rule("write_file", Action::Allow, "files of the workspace"),
        rule("edit_file", Action::Allow, "files of the workspace"),
    ];
    match commands {
        // Of a job, what changes nothing may be asked; else it asks too, as what has no rule.
        Commands::Asked => rules.push(rule("run_command", Action::Ask, "commands ask")),
        Commands::Allowed => {
            rules.push(rule("run_command", Action::Allow, "commands are allowed"));
            rules.push(rule("job", Action::Allow, "commands are allowed"));
        }
    }
    let mut hash = Sha256::new();
    for Rule { tool, action, name } in &rules {
        hash.update(format!("{tool}\0{action:?}\0{name}\n"));
    }
    Policy { rules, hash: Digest(hash.finalize().into()) }
}

/// A name with a slip in it would leave a tool as it is that was to be off, or picked from.
fn check_tools<'a>(
    setting: &str,
    mut named: impl Iterator<Item = &'a str>,
    tools: &[String],
) -> Result<(), ConfigError> {
    // It is there only if its command is, and may be named before.
    let known = || tools.iter().map(String::as_str).chain(["run_tests"]);
    match named.find(|name| known().all(|tool| tool != *name)) {
        None => Ok(()),
        Some(name) => {
            let nearest =
                known().min_by_key(|tool| strsim::damerau_levenshtein(name, tool)).unwrap_or_default();
            let what = format!("`{setting}` names {name:?}, which is no tool; the nearest is `{nearest}`");
            Err(ConfigError::Setting(what))
        }
    }
}

fn chance() -> Permille {
    let mut bytes = [0_u8; 2];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Permille(u16::from_le_bytes(bytes) % 1000),
        // Without chance the waits are the shortest ones.
        Err(_) => Permille(0),
    }
}

/// Who this process is, for others that want a session it holds.
pub(crate) fn holder() -> Holder {
    Holder { text: host().into(), program: env!("CARGO_PKG_VERSION").into() }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "this machine".to_owned(),
        name => name.to_owned(),
    }
}
